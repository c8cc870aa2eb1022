import { generateKeyPairSync, sign } from "node:crypto";
import { recordLeaf } from "@inference/protocol/chunk";
import { lowerAddress } from "@inference/protocol/credential";
import { merkleRootOf, merkleTree, pureKeccak } from "@inference/protocol/merkle-tree";
import { type SignedReceipt, signingInput, withSignature } from "@inference/protocol/signed-receipt";
import { makeLeafOf } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import { bytesToHex, type Hex, sha256, toBytes } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import type { BookedRecord, ListedReceipt, StatementUse } from "../spending.ts";
import type { Evidence } from "../verify/evidence.ts";
import { settledUseOf, settleRecordOf } from "../verify/statements.ts";

/**
 * A bill as a gateway tells it, whose leaves, roots and chunks are made to fit: also one of a gateway that lies well.
 */
export type Story = {
  /** The billed requests, in order of settlement. The last one waits. */
  billed: Billed[];
  /** How many uses the final statements have. The first statement is paid in two records. */
  sealed: number[];
  /** The customer's receipts, with their charges. */
  kept: Billed[];
  /** The agents' parts that the records have, by statement. Absent: as the uses say. */
  parts?: BookedRecord["parts"][];
};

export type Billed = {
  id: string;
  charge: number;
  day: string;
  servedBy: string;
  basis: ListedReceipt["basis"];
  /** A charge before the request, without a use. */
  gap?: number;
};

export const KEY = `0x${"1".repeat(64)}` as const;
export const ACCOUNT = lowerAddress(privateKeyToAddress(KEY));
export const SETTLEMENT = `0x${"5".repeat(40)}` as const;
export const AGENT = `0x${"e".repeat(40)}` as const;
export const CENT = 10_000_000;
const OFFER = `0x${"0f".repeat(32)}` as const;
const PRICES = JSON.stringify({ data: [{ id: "alder-4b", pricing: { prompt: "0.001", completion: "0" } }] });
export const SNAPSHOT = sha256(toBytes(PRICES)).slice(2, 34);
const contract = { chainId: 1, address: SETTLEMENT };
const pair = generateKeyPairSync("ed25519");

/**
 * Six uses of a cent each on two days, the second of them an agent's. Two statements are final; the sixth use waits.
 */
export function honestStory(): Story {
  const billed = [0, 1, 2, 3, 4, 5].map((index) => billedAt(index, index < 3 ? "2026-11-02" : "2026-11-03"));
  if (billed[1] !== undefined) billed[1].servedBy = AGENT;
  return { billed, sealed: [3, 2], kept: billed.map((each) => ({ ...each })) };
}

export function billedAt(index: number, day: string): Billed {
  return { id: `req_0${index}${"0".repeat(24)}`, charge: CENT, day, servedBy: "protocol", basis: "usage" };
}

/** The evidence of a gateway and an honest chain, on the day after the last use. */
export function evidenceOf(story: Story): Evidence {
  const uses = usesOf(story.billed);
  const receipts = story.billed.map(receiptOf);
  const totals: Record<string, number> = {};
  for (const { day, charge } of story.billed) totals[day] = (totals[day] ?? 0) + charge;
  const records = recordsOf(story, uses);
  const last = records.at(-1);
  const debited = last === undefined ? 0 : last.before_nano_usd + last.amount_nano_usd;
  const used = uses.at(-1)?.ends_at_nano_usd ?? 0;
  const served = records.flatMap(({ parts }) => parts).reduce((sum, { amount_nano_usd: amount }) => sum + amount, 0);
  const none = { supplyNanoUsd: "0", owedNanoUsd: "0", linesNanoUsd: "0", listedLinesNanoUsd: "0" };
  return {
    ...{ version: 4, madeAt: "2026-11-04T12:00:00Z", gateway: "https://gateway.example", account: ACCOUNT },
    ...{ period: null, contract: { ...contract, named: SETTLEMENT, isPinned: true } },
    said: {
      ...{ records, uses, receipts, retentionDays: 90, prices: { [SNAPSHOT]: PRICES } },
      balance: {
        ...{ totals, waitingFor: null },
        credits: {
          ...{ total_credits_nano_usd: 100 * CENT, total_usage_nano_usd: used, available_nano_usd: 100 * CENT - used },
          ...{ reserved_nano_usd: 0, debited_nano_usd: debited, taken_over_nano_usd: 0 },
        } as NonNullable<Evidence["said"]["balance"]>["credits"],
      },
    },
    chain: {
      ...{ node: "the client", block: 10, at: "2026-11-04T12:00:00.000Z", activatedNanoUsd: String(100 * CENT) },
      ...{ debitedNanoUsd: String(debited), servedNanoUsd: String(served), owedBackNanoUsd: "0" },
      receiptKey: bytesToHex(Buffer.from(pair.publicKey.export({ format: "jwk" }).x ?? "", "base64url")),
      blocks: Object.fromEntries(records.map(({ chunk }) => [chunk.root, chunk.block])),
    },
    books: {
      primary: {
        ...{ node: "the client", firstBlockBy: "the client", dollarsToken: "950000" },
        ...{ ...none, backingNanoUsd: String(95 * CENT), creditNanoUsd: String(95 * CENT) },
      },
      secondaries: [],
    },
    log: { receipts: story.kept.map((each) => signedOf(each)), isComplete: true },
  };
}

function usesOf(billed: readonly Billed[]): StatementUse[] {
  let end = 0;
  return billed.map(({ id, charge, day, servedBy, gap = 0 }) => {
    end += gap + charge;
    return {
      ...{ id, ends_at_nano_usd: end, charge: charge / 1e9, charge_nano_usd: charge, day_served: day },
      ...{ served_by: servedBy, offer: servedBy === "protocol" ? null : OFFER, price_snapshot: SNAPSHOT },
    } as StatementUse;
  });
}

/** A record a statement, in a chunk with a record of another account; the first one in two records, as if clipped. */
function recordsOf({ sealed, parts }: Story, uses: readonly StatementUse[]): BookedRecord[] {
  const leafOf = makeLeafOf(contract, ACCOUNT);
  let [at, before] = [0, 0];
  return sealed.flatMap((count, index) => {
    const own = uses.slice(at, at + count);
    at += count;
    const root = bytesToHex(
      merkleRootOf(
        own.map((use) => leafOf(settledUseOf(use), before)),
        pureKeccak,
      ),
    );
    const after = own.at(-1)?.ends_at_nano_usd ?? before;
    const served = parts?.[index] ?? partsOf(own);
    const clip = index === 0 ? CENT / 2 : 0;
    const [first, second] = [before + clip, before];
    before = after;
    const whole = recordAt({ before_nano_usd: first, amount_nano_usd: after - first, root, parts: served }, own);
    return clip === 0
      ? [whole]
      : [recordAt({ before_nano_usd: second, amount_nano_usd: clip, root, parts: [] }, own), whole];
  });
}

function partsOf(uses: readonly StatementUse[]): BookedRecord["parts"] {
  return uses.flatMap(({ served_by: agent, day_served: day, charge, charge_nano_usd: nano }) =>
    agent === "protocol" ? [] : { agent, day, amount: charge, amount_nano_usd: nano },
  );
}

type Booked = Pick<BookedRecord, "before_nano_usd" | "amount_nano_usd" | "root" | "parts">;

/** Puts a record into a chunk of its own. */
export function recordAt(booked: Booked, uses: readonly StatementUse[] = []): BookedRecord {
  const record = { ...booked, amount: booked.amount_nano_usd / 1e9, chunk: {}, proof: [] } as unknown as BookedRecord;
  const own = settleRecordOf(record, ACCOUNT);
  const other = { ...own, account: `0x${"b".repeat(40)}` as const };
  const leaves = [recordLeaf(own), recordLeaf(other)];
  return {
    ...record,
    chunk: {
      ...{ root: bytesToHex(merkleRootOf(leaves, pureKeccak)), block: 9, transaction: `0x${"7".repeat(64)}` },
      day: uses.at(-1)?.day_served ?? "2026-11-03",
    },
    proof: merkleTree(leaves, pureKeccak)
      .proofOf(0)
      .map((node) => bytesToHex(node)),
  };
}

function receiptOf({ id, charge, day, servedBy, basis }: Billed): ListedReceipt {
  return {
    ...{ id, created_at: `${day}T10:00:00Z`, basis, model: "alder-4b", charge_nano_usd: charge },
    ...{ held_nano_usd: 2 * charge, price_snapshot: SNAPSHOT, served_by: servedBy },
    ...{ offer: servedBy === "protocol" ? null : OFFER, tokens_prompt: charge / 1_000_000, tokens_completion: 1 },
    ...{ native_tokens_cached: 0, native_tokens_cache_write: 0 },
  } as ListedReceipt;
}

/** The signed receipt of a request. @param by Another key than the contract's. */
export function signedOf(
  { id, charge, day, servedBy }: Billed,
  changed: Partial<SignedReceipt> = {},
  by = pair.privateKey,
): string {
  const input = signingInput({
    ...{ iss: "https://gateway.example", sub: ACCOUNT, jti: id, iat: Date.parse(`${day}T09:00:00Z`) / 1_000 },
    ...{ chain_id: 1, settlement: SETTLEMENT as Hex, cost_nano_usd: charge, model: "alder-4b", snapshot: SNAPSHOT },
    ...{ day: dayNumber(Date.parse(day)), served_by: servedBy as Hex | "protocol" },
    offer: servedBy === "protocol" ? null : OFFER,
    ...changed,
  });
  return withSignature(input, sign(null, Buffer.from(input), by));
}
