import type { NanoUsd } from "@inference/protocol/money";
import { windowEnd } from "@inference/protocol/window";
import type {
  CursorRow,
  KeyRow,
  ReadRows,
  ReceiptRow,
  ReconciliationRow,
  RecordRow,
  SessionRow,
  TransactionRow,
  UseRow,
} from "../rows/tables.ts";
import { authenticate } from "../rules/authenticate.ts";
import { type BillView, billView, type PlacedUse, usesOf } from "../rules/bill.ts";
import { balanceOf, type CountedBudget, keyOf, leftOf } from "../rules/budget.ts";
import { ceilingOf } from "../rules/ceiling.ts";
import { type Claimed, earlierClaim } from "../rules/claim.ts";
import { availableOf, type CountedLimit, countLimits, termsOf } from "../rules/key-limits.ts";
import { type KeyUsage, keyUsage } from "../rules/key-usage.ts";
import { type OfferView, offerView, ownCapacity } from "../rules/offer.ts";
import { positionId } from "../rules/position.ts";
import {
  answeredReceipt,
  type ReceiptPage,
  type ReceiptQuery,
  receiptOf,
  receiptPage,
  type TotalPage,
  type TotalQuery,
  totalPage,
} from "../rules/receipts.ts";
import {
  type DueStatement,
  dueStatements,
  isSent,
  type PlacedRecord,
  recordsOf,
  type Waiting,
  waitingOf,
} from "../rules/told.ts";
import { noticesOf, webhooksOf } from "../rules/webhook.ts";
import type { Claim, CredentialFault, KeyTerms, Notice, PayerCredential, Webhook } from "./commands.ts";

/** The read side: queries of one partition, with their answers. */
export type BudgetView = Omit<CountedBudget, "name" | "beside"> & {
  /** The amount that a request could reserve now; null without a limit. */
  availableNanoUsd: NanoUsd | null;
  resetsAt: number | null;
};
/** A limit of a key, with the amount that a request could use now. */
export type LimitView = CountedLimit & { available: number; resetsAt: number | null };
export type KeyView = { key: KeyRow; budget: BudgetView; terms: KeyTerms; limits: LimitView[] };

export type Queries = {
  balance: { query: { type: "balance"; at: number }; answer: BudgetView };
  /** Ceiling: what accounts are allowed and did not use is held. */
  ceiling: { query: { type: "ceiling"; at: number }; answer: BudgetView };
  capacity: { query: { type: "capacity"; at: number }; answer: BudgetView };
  /** Identity: the agent's offer, and its amounts of a day. */
  offer: { query: { type: "offer"; at: number }; answer: OfferView };
  credential: {
    query: { type: "credential"; at: number; payer: PayerCredential };
    answer: { fault: CredentialFault } | { keyId: string | null; session: SessionRow | null };
  };
  key: { query: { type: "key"; at: number; keyId: string }; answer: KeyView | null };
  keys: { query: { type: "keys"; at: number }; answer: KeyView[] };
  /** The request that claimed a name, and how it ended. For a valid credential. */
  claimed: {
    query: { type: "claimed"; at: number; payer: PayerCredential; claim: Claim };
    answer: { fault: CredentialFault } | { earlier: Claimed | null };
  };
  /** Account: its webhooks, and its notices, the oldest first. */
  webhooks: { query: { type: "webhooks" }; answer: { webhooks: readonly Webhook[]; notices: readonly Notice[] } };
  keyUsage: { query: { type: "keyUsage"; at: number; keyId: string }; answer: KeyUsage };
  /** A resolved request that was forwarded. */
  receipt: { query: { type: "receipt"; id: string }; answer: ReceiptRow | null };
  /** The newest receipt with the provider's id of an answer, among the last thousand. */
  answered: { query: { type: "answered"; upstreamId: string }; answer: ReceiptRow | null };
  /** Receipts, the newest first. A short or empty page need not be the last. */
  receipts: { query: ReceiptQuery; answer: ReceiptPage };
  /** Totals of receipts, in the order of their days. A short page need not be the last. */
  totals: { query: TotalQuery; answer: TotalPage };
  /** Account: what it owes and was debited, and its open statement. */
  bill: { query: { type: "bill" }; answer: BillView };
  /** Account: uses that end above a position, in their order; of a statement those from `before` up to `after`. */
  uses: {
    query: { type: "uses"; afterNanoUsd: NanoUsd; limit: number; withKeys?: boolean };
    answer: PlacedUse[];
  };
  /** Account: the use that ends at a position. */
  use: { query: { type: "use"; endsAtNanoUsd: NanoUsd }; answer: UseRow | null };
  /** Chain: the accounts that ever activated, in the order of their addresses. */
  payers: { query: { type: "payers"; after?: string; limit: number }; answer: string[] };
  /** Chain: the statements that can be debited now, oldest first. */
  dueStatements: { query: { type: "dueStatements"; limit: number }; answer: DueStatement[] };
  /** Chain: the number and amount of statements that are not final. */
  waiting: { query: { type: "waiting"; toldBefore: number | null }; answer: Waiting };
  /** Chain: the final records of an account that end above a position, in their order. */
  records: {
    query: { type: "records"; account: string; afterNanoUsd: NanoUsd; limit: number };
    answer: PlacedRecord[];
  };
  /** Chain: whether a transaction that may be in flight has a record of the account. */
  sent: { query: { type: "sent"; account: string }; answer: boolean };
  /** Chain: the transactions that may be in flight, the lowest nonce first. */
  transactions: { query: { type: "transactions"; limit: number }; answer: (TransactionRow & { nonce: number })[] };
  /** Chain: reconciliations, the newest day first; those before a day, or the last. */
  reconciliations: { query: { type: "reconciliations"; before?: string; limit: number }; answer: ReconciliationRow[] };
  reconciliation: { query: { type: "reconciliation"; day: string }; answer: ReconciliationRow | null };
  cursor: { query: { type: "cursor" }; answer: CursorRow | null };
};
export type { BillView, DueStatement, PlacedRecord, PlacedUse, RecordRow };

export type QueryType = keyof Queries;
export type Query = Queries[QueryType]["query"];
export type AnswerOf<Q extends Query> = Queries[Q["type"]]["answer"];

const answers: { [T in QueryType]: (rows: ReadRows, query: Queries[T]["query"]) => Queries[T]["answer"] } = {
  balance: (rows, { at }) => budgetView(balanceOf(rows, rows.holds()), at),
  ceiling: (rows, { at }) => budgetView(ceilingOf(rows, at), at),
  capacity: (rows, { at }) => budgetView(ownCapacity(rows, rows.holds(), at), at),
  offer: (rows, { at }) => offerView(rows, at),
  credential,
  key: (rows, { keyId, at }) => keyView(rows, rows.get("key", keyId), at),
  keys: (rows, { at }) => rows.liveKeys().flatMap((key) => keyView(rows, key, at) ?? []),
  claimed,
  webhooks: (rows) => ({ webhooks: webhooksOf(rows), notices: noticesOf(rows) }),
  keyUsage: (rows, { keyId, at }) => keyUsage(rows, keyId, at),
  receipt: (rows, { id }) => receiptOf(rows, id),
  answered: (rows, { upstreamId }) => answeredReceipt(rows, upstreamId),
  receipts: receiptPage,
  totals: totalPage,
  bill: billView,
  uses: usesOf,
  use: (rows, { endsAtNanoUsd }) => rows.get("use", positionId(endsAtNanoUsd)) ?? null,
  payers: (rows, query) => rows.list("payer", query).map(({ id }) => id),
  dueStatements: (rows, { limit }) => dueStatements(rows, limit),
  waiting: (rows, { toldBefore }) => waitingOf(rows, toldBefore),
  records: recordsOf,
  sent: (rows, { account }) => isSent(rows, account),
  transactions: (rows, query) => rows.list("transaction", query).map((row) => ({ ...row, nonce: Number(row.id) })),
  reconciliations: (rows, { before = ":", limit }) => rows.newest("reconciliation", { before, limit }),
  reconciliation: (rows, { day }) => rows.get("reconciliation", day) ?? null,
  cursor: (rows) => rows.get("cursor", "cursor") ?? null,
};

export function answer<Q extends Query>(rows: ReadRows, query: Q): AnswerOf<Q> {
  const one = answers[query.type] as ((rows: ReadRows, query: Q) => AnswerOf<Q>) | undefined;
  // During a rollout a newer version may send one that this version does not know. It does not answer "none".
  if (one === undefined) throw new Error(`there is no question ${query.type} in this version`);
  return one(rows, query);
}

function credential(rows: ReadRows, { payer, at }: Queries["credential"]["query"]): Queries["credential"]["answer"] {
  const found = authenticate(rows, payer, at);
  if ("fault" in found) return found;
  return { keyId: found.keyId, session: payer.kind === "session" ? (rows.get("session", payer.digest) ?? null) : null };
}

function claimed(rows: ReadRows, { at, payer, claim }: Queries["claimed"]["query"]): Queries["claimed"]["answer"] {
  const found = authenticate(rows, payer, at);
  return "fault" in found ? found : { earlier: earlierClaim(rows, claim, at) ?? null };
}

function keyView(rows: ReadRows, key: KeyRow | undefined, atMs: number): KeyView | null {
  if (key === undefined) return null;
  const holds = rows.holds();
  const limits = countLimits(rows, holds, key, atMs).map((counted) => {
    return { ...counted, available: availableOf(counted), resetsAt: windowEnd(counted.limit.window, atMs) };
  });
  return { key, budget: budgetView(keyOf(rows, holds, key, atMs), atMs), terms: termsOf(key), limits };
}

/** The budgets in dollars of a key, its first one first. */
export function keyBudgets({ budget, limits }: KeyView): BudgetView[] {
  const inDollars = limits.filter(({ limit }) => limit.unit === "nano_usd").map(limitBudget);
  return budget.limitNanoUsd === null ? [budget, ...inDollars] : inDollars;
}

/** A limit in dollars as a budget. */
export function limitBudget({ limit, used, held, available, resetsAt }: LimitView): BudgetView {
  const { window, most: limitNanoUsd } = limit;
  return { window, limitNanoUsd, settledNanoUsd: used, heldNanoUsd: held, availableNanoUsd: available, resetsAt };
}

function budgetView(counted: CountedBudget, atMs: number): BudgetView {
  const { name: _name, beside: _beside, ...budget } = counted;
  const availableNanoUsd = leftOf(counted)?.available ?? null;
  return { ...budget, availableNanoUsd, resetsAt: windowEnd(budget.window, atMs) };
}
