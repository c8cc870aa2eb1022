import type { NanoUsd } from "@inference/protocol/money";
import { type Window, windowEnd } from "@inference/protocol/window";
import { type BatchQuery, type BatchView, batchesBefore, batchOf } from "./batch.ts";
import { type CountedBudget, counterId, counterOf, leftOf, ownCapacity } from "./budget.ts";
import { type Claimed, earlierClaim } from "./claim.ts";
import type { Claim, CredentialFault, Payer, UseRange } from "./commands.ts";
import { batchUses, shardsOf, type WaitingUses, waitingUses } from "./journal.ts";
import { type KeyUsage, keyUsage } from "./key-usage.ts";
import { type OfferView, offerView } from "./offer.ts";
import { authenticate } from "./payer.ts";
import { postedBefore } from "./posted.ts";
import {
  answeredReceipt,
  type ReceiptPage,
  type ReceiptQuery,
  receiptPage,
  type TotalPage,
  type TotalQuery,
  totalPage,
} from "./receipts.ts";
import type {
  CreditRow,
  CursorRow,
  DebitRow,
  KeyRow,
  OnchainRow,
  PostedRow,
  ReadRows,
  ReceiptRow,
  ReconciliationRow,
  SessionRow,
  UseRow,
} from "./tables.ts";

/** The read side: queries of one partition, with their answers. */
export type BudgetView = {
  window: Window;
  limitNanoUsd: NanoUsd | null;
  settledNanoUsd: NanoUsd;
  heldNanoUsd: NanoUsd;
  /** What a request could reserve now; null without a limit. */
  availableNanoUsd: NanoUsd | null;
  resetsAt: number | null;
};
export type KeyView = { key: KeyRow; budget: BudgetView };

export type Queries = {
  balance: { query: { type: "balance"; at: number }; answer: BudgetView };
  ceiling: { query: { type: "ceiling"; at: number }; answer: BudgetView };
  capacity: { query: { type: "capacity"; at: number }; answer: BudgetView };
  /** Identity: the agent's offer, and what it comes to on a day. */
  offer: { query: { type: "offer"; at: number }; answer: OfferView };
  credential: {
    query: { type: "credential"; at: number; payer: Payer };
    answer: { fault: CredentialFault } | { keyId: string | null; session: SessionRow | null };
  };
  key: { query: { type: "key"; at: number; keyId: string }; answer: KeyView | null };
  keys: { query: { type: "keys"; at: number }; answer: KeyView[] };
  /** The request that claimed a name, and how it ended. For a valid credential. */
  claimed: {
    query: { type: "claimed"; at: number; payer: Payer; claim: Claim };
    answer: { fault: CredentialFault } | { earlier: Claimed | null };
  };
  keyUsage: { query: { type: "keyUsage"; at: number; keyId: string }; answer: KeyUsage };
  /** Those of these requests that a key made, as far as their receipts are kept. */
  ofKey: { query: { type: "ofKey"; keyId: string; ids: readonly string[] }; answer: string[] };
  receipt: { query: { type: "receipt"; id: string }; answer: ReceiptRow | null };
  /** The newest receipt with the provider's id of an answer, among the last thousand. */
  answered: { query: { type: "answered"; upstreamId: string }; answer: ReceiptRow | null };
  /** Receipts, the newest first. A short or empty page need not be the last. */
  receipts: { query: ReceiptQuery; answer: ReceiptPage };
  /** Totals of receipts, in the order of their days. A short page need not be the last. */
  totals: { query: TotalQuery; answer: TotalPage };
  credits: { query: { type: "credits"; after?: string; limit: number }; answer: CreditRow[] };
  /** Account: what was taken from the balance because the chain has no credit for it. */
  debits: { query: { type: "debits"; after?: string; limit: number }; answer: DebitRow[] };
  /** Chain: batches as the chain tells them, the newest first; those before one, or the last. */
  posted: { query: { type: "posted"; before?: number; limit: number }; answer: (PostedRow & { batch: number })[] };
  /** Chain: reconciliations, the newest day first; those before a day, or the last. */
  reconciliations: { query: { type: "reconciliations"; before?: string; limit: number }; answer: ReconciliationRow[] };
  reconciliation: { query: { type: "reconciliation"; day: string }; answer: ReconciliationRow | null };
  /** Chain: the credit of accounts on chain, in the order of their addresses. */
  onchain: { query: { type: "onchain"; after?: string; limit: number }; answer: OnchainRow[] };
  cursor: { query: { type: "cursor" }; answer: CursorRow | null };
  /** The total of a day's journal. */
  journal: { query: { type: "journal" }; answer: { settledNanoUsd: NanoUsd } };
  /** Journal: one use. */
  use: { query: { type: "use"; id: string }; answer: UseRow | null };
  /** Journal: its uses, in the order of their ids. */
  uses: { query: { type: "uses"; after?: string; limit: number }; answer: UseRow[] };
  /** Journal: how many uses wait, up to a limit, and when the oldest of them was admitted. */
  waiting: { query: { type: "waiting"; limit: number }; answer: WaitingUses };
  /** A day's own journal: the journals of its shards. */
  shards: { query: { type: "shards" }; answer: string[] };
  /** Journal: the uses of a batch, by the first and the last that it has there. */
  batchUses: { query: { type: "batchUses"; batch: number } & UseRange; answer: UseRow[] };
  /** Chain: one batch. */
  batch: { query: { type: "batch"; batch: number }; answer: BatchView | null };
  /** Chain: batches, the newest first; those before one, or the last. */
  batches: { query: { type: "batches"; before?: number } & BatchQuery; answer: BatchView[] };
};

export type QueryType = keyof Queries;
export type Query = Queries[QueryType]["query"];
export type AnswerOf<Q extends Query> = Queries[Q["type"]]["answer"];

export function answer<Q extends Query>(rows: ReadRows, query: Q): AnswerOf<Q> {
  return answerAny(rows, query) as AnswerOf<Q>;
}

function answerAny(rows: ReadRows, query: Query): AnswerOf<Query> {
  switch (query.type) {
    case "balance":
      return budgetView(countedById(rows, "balance", "lifetime", query.at), query.at);
    case "ceiling":
      return budgetView(countedById(rows, "ceiling", "day", query.at), query.at);
    case "capacity":
      return budgetView(ownCapacity(rows, query.at), query.at);
    case "offer":
      return offerView(rows, query.at);
    case "credential":
      return credential(rows, query.payer, query.at);
    case "key":
      return keyView(rows, rows.get("key", query.keyId), query.at);
    case "keys":
      return rows.liveKeys().flatMap((key) => keyView(rows, key, query.at) ?? []);
    case "claimed":
      return claimed(rows, query);
    case "keyUsage":
      return keyUsage(rows, query.keyId, query.at);
    case "ofKey":
      return query.ids.filter((id) => rows.get("receipt", id)?.keyId === query.keyId);
    case "receipt":
      return rows.get("receipt", query.id) ?? null;
    case "answered":
      return answeredReceipt(rows, query.upstreamId);
    case "receipts":
      return receiptPage(rows, query);
    case "totals":
      return totalPage(rows, query);
    case "credits":
      return rows.list("credit", query);
    case "debits":
      return rows.list("debit", query);
    case "posted":
      return postedBefore(rows, query.before ?? null, query.limit);
    case "reconciliations":
      return rows.newest("reconciliation", { before: query.before ?? ":", limit: query.limit });
    case "reconciliation":
      return rows.get("reconciliation", query.day) ?? null;
    case "onchain":
      return rows.list("onchain", query);
    case "cursor":
      return rows.get("cursor", "cursor") ?? null;
    case "journal":
      return { settledNanoUsd: counterOf(rows, "uses@0").settledNanoUsd };
    case "use":
      return rows.get("use", query.id) ?? null;
    case "uses":
      return rows.list("use", query);
    case "waiting":
      return waitingUses(rows, query.limit);
    case "shards":
      return shardsOf(rows);
    case "batchUses":
      return batchUses(rows, query.batch, query);
    case "batch":
      return batchOf(rows, query.batch);
    case "batches":
      return batchesBefore(rows, query.before ?? null, query);
    default:
      return unknownQuery(query);
  }
}

/**
 * During a rollout a newer version may send a query that this one does not know. It throws, and does not answer "none".
 */
function unknownQuery(query: never): never {
  throw new Error(`there is no question ${(query as { type?: unknown }).type} in this version`);
}

function credential(rows: ReadRows, payer: Payer, atMs: number): Queries["credential"]["answer"] {
  const found = authenticate(rows, payer, atMs);
  if ("fault" in found) return found;
  return { keyId: found.keyId, session: payer.kind === "session" ? (rows.get("session", payer.digest) ?? null) : null };
}

function claimed(rows: ReadRows, { at, payer, claim }: Queries["claimed"]["query"]): Queries["claimed"]["answer"] {
  const found = authenticate(rows, payer, at);
  return "fault" in found ? found : { earlier: earlierClaim(rows, claim, at) ?? null };
}

function keyView(rows: ReadRows, key: KeyRow | undefined, atMs: number): KeyView | null {
  if (key === undefined) return null;
  return { key, budget: budgetView(countedById(rows, `key:${key.id}`, key.window, atMs), atMs) };
}

type Counted = Omit<CountedBudget, "name">;

function countedById(rows: ReadRows, id: string, window: Window, atMs: number): Counted {
  const budget = rows.get("budget", id) ?? { id, window, limitNanoUsd: 0 };
  return { budget, counter: counterOf(rows, counterId(id, budget, atMs)) };
}

function budgetView(counted: Counted, atMs: number): BudgetView {
  const { window, limitNanoUsd } = counted.budget;
  const { settledNanoUsd, heldNanoUsd } = counted.counter;
  const availableNanoUsd = leftOf(counted)?.available ?? null;
  return {
    ...{ window, limitNanoUsd, settledNanoUsd, heldNanoUsd, availableNanoUsd },
    resetsAt: windowEnd(window, atMs),
  };
}
