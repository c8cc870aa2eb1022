import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { leafOf, parentOf } from "@inference/protocol/use-leaf";
import { sha256, toBytes } from "viem";
import type { ListedReceipt } from "../spending.ts";
import type { Evidence } from "./evidence.ts";
import { type Check, judge } from "./judge.ts";
import { settledUseOf } from "./settled-use.ts";

/** Lies that need time, or a bundle: they are told in evidence that is made here. `verify.test.ts` has real ones. */
const ACCOUNT = `0x${"a".repeat(40)}` as const;
const SETTLEMENT = `0x${"5".repeat(40)}` as const;
const OTHER = `0x${"6".repeat(40)}` as const;
const CENT = 10_000_000;
const honest = evidenceOf();

test("an honest gateway passes every check", () => {
  const { outcome, checks } = judge(honest);
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  match(detail(honest, "leaves"), /^2 uses; 0 are in batches that are not final yet$/);
});

test("an id of prices is their whole digest: no shorter text stands for it", () => {
  for (const length of [0, 1, 31, 64]) {
    const evidence = structuredClone(honest);
    const text = JSON.stringify({ data: [{ id: "alder-4b", pricing: { prompt: "1", completion: "1" } }] });
    const id = sha256(toBytes(text)).slice(2, 2 + length);
    for (const receipt of evidence.said.receipts) receipt.price_snapshot = id;
    evidence.said.prices = { [id]: text };
    deepEqual([length, outcomes(evidence).prices], [length, "fail"]);
    match(detail(evidence, "prices"), /not those of the snapshot/);
  }
});

test("charges without a count of tokens leave the usage unproved: it is skipped, with how much they are", () => {
  const evidence = structuredClone(honest);
  first(evidence.said.receipts).basis = "flat";
  equal(outcomes(evidence).usage, "skipped");
  match(detail(evidence, "usage"), /^1 of 2 charges; 1 others, of \$0\.01, have no count of tokens$/);
  equal(judge(evidence).outcome, "skipped");
});

test("uses that are in no batch wait for a week, and fail then, also when their receipts are forgotten", () => {
  const waiting = structuredClone(honest);
  waiting.chain.at = "2026-11-08T23:59:59Z";
  charge(waiting, "2026-11-01");
  equal(outcomes(waiting).leaves, "pass");
  match(detail(waiting, "leaves"), /2 uses; .*\$0\.01 waits for a batch/);
  const late = structuredClone(waiting);
  late.chain.at = "2026-11-09T00:00:01Z";
  equal(outcomes(late).leaves, "fail");
  match(detail(late, "leaves"), /\$0\.01 of 2026-11-01 is in no final batch, .* at most 7 days$/);
  late.said.receipts.pop();
  equal(outcomes(late).leaves, "fail");
});

test("uses of which none is in a batch wait as well, and fail after a week", () => {
  const evidence = structuredClone(honest);
  evidence.said.batches = [];
  evidence.chain.at = "2026-11-03T00:00:00Z";
  equal(outcomes(evidence).leaves, "skipped");
  match(detail(evidence, "leaves"), /^no use is in a batch yet; \$0\.02 waits for a batch$/);
  evidence.chain.at = "2026-11-24T00:00:00Z";
  match(detail(evidence, "leaves"), /\$0\.02 of 2026-11-02 is in no final batch, .* at most 7 days$/);
});

test("a use waits neither in the future, nor without a time of the chain", () => {
  const evidence = structuredClone(honest);
  charge(evidence, "2026-11-04");
  match(detail(evidence, "leaves"), /^\$0\.01 of 2026-11-04 is in no final batch, and the chain is at 2026-11-02/);
  equal(outcomes(evidence).leaves, "fail");
  const timeless = structuredClone(honest);
  charge(timeless, "2026-11-02");
  timeless.said.totals = { "2026-11-02": 3 * CENT };
  equal(outcomes(timeless).leaves, "pass");
  timeless.chain.at = "";
  equal(outcomes(timeless).leaves, "fail");
});

test("a batch that is not sent yet does not let a use wait for ever", () => {
  const evidence = structuredClone(honest);
  evidence.chain.roots = {};
  for (const batch of evidence.said.batches) batch.status = "pending";
  equal(outcomes(evidence).leaves, "skipped");
  evidence.chain.at = "2026-11-24T00:00:00Z";
  equal(outcomes(evidence).leaves, "fail");
});

test("whoever made a bundle is trusted in every check, and cannot say that its contract is the right one", () => {
  const { checks, outcome } = judge(honest, { isBundle: true });
  for (const { id, trusts } of checks) match(trusts.join(), /whoever made this bundle/, id);
  equal(outcome, "skipped");
  equal(checks.find(({ id }) => id === "contract")?.outcome, "skipped");
});

test("who judges a bundle names the contract", () => {
  const named = (settlement: `0x${string}`) => judge(honest, { isBundle: true, settlement }).checks;
  equal(named(SETTLEMENT).find(({ id }) => id === "contract")?.outcome, "pass");
  equal(named(OTHER).find(({ id }) => id === "contract")?.outcome, "fail");
});

test("without an address of one's own, each check that asks the chain names the gateway for it", () => {
  const evidence = structuredClone(honest);
  evidence.contract.isPinned = false;
  for (const id of ["contract", "leaves", "debits", "balance", "books"]) {
    const check = judge(evidence).checks.find((each) => each.id === id);
    match(check?.trusts.join() ?? "", /the gateway, for the contract's address/, id);
  }
});

test("where no node says when the contracts begin, the gateway is trusted for it", () => {
  const evidence = structuredClone(honest);
  for (const read of [evidence.chain, evidence.books.primary]) read.firstBlockBy = "the gateway";
  for (const id of ["debits", "balance", "books"]) {
    const check = judge(evidence).checks.find((each) => each.id === id);
    match(check?.trusts.join() ?? "", /the gateway, that no event is older than its first block/, id);
  }
});

/** Two uses of a cent each, of one day, in one final batch. */
function evidenceOf(): Evidence {
  const text = JSON.stringify({ data: [{ id: "alder-4b", pricing: { prompt: "0.001", completion: "0" } }] });
  const snapshot = sha256(toBytes(text)).slice(2, 34);
  const receipts = ["0", "1"].map((digit) => receiptOf(digit, snapshot));
  const leaves = receipts.map((receipt) => {
    return leafOf({ chainId: 8_453, address: SETTLEMENT }, settledUseOf(receipt, ACCOUNT, 1));
  });
  const batch = {
    ...{ id: 1, status: "final", day: "2026-11-02", uses: 2, transaction: null, block: 9 },
    leaves: receipts.map(({ id, charge_nano_usd }, index) => ({
      ...{ id, charge_nano_usd, day_served: 20_759, served_by: "protocol", offer: null },
      ...{ leaf: leaves[index], proof: [leaves[1 - index]] },
    })),
  };
  const root = parentOf(leaves[0] ?? "0x", leaves[1] ?? "0x");
  const none = { supplyNanoUsd: "0", owedNanoUsd: "0", linesNanoUsd: "0", listedLinesNanoUsd: "0" };
  return {
    ...{ version: 3, madeAt: "2026-11-02T12:00:00Z", gateway: "https://gateway.example", account: ACCOUNT },
    contract: { chainId: 8_453, address: SETTLEMENT, named: SETTLEMENT, isPinned: true },
    said: {
      credits: {
        ...{ total_credits_nano_usd: 100 * CENT, total_usage_nano_usd: 2 * CENT, available_nano_usd: 98 * CENT },
        ...{ reserved_nano_usd: 0, debited_elsewhere_nano_usd: 0 },
      } as Evidence["said"]["credits"],
      ...{ receipts, totals: { "2026-11-02": 2 * CENT }, retentionDays: 90 },
      batches: [batch as unknown as Evidence["said"]["batches"][number]],
      prices: { [snapshot]: text },
    },
    chain: {
      ...{ node: "the client", firstBlockBy: "the client", block: 10, creditNanoUsd: String(98 * CENT) },
      at: "2026-11-02T12:00:00Z",
      activations: [{ amountToken: "1000000", block: 1, transaction: "0x" }],
      debits: [{ batch: 1, amountNanoUsd: String(2 * CENT), block: 9, transaction: "0x" }],
      roots: { 1: root },
    },
    books: {
      primary: {
        ...{ node: "the client", firstBlockBy: "the client", dollarsToken: "980000" },
        ...{ ...none, backingNanoUsd: String(98 * CENT), creditNanoUsd: String(98 * CENT) },
      },
      secondaries: [],
    },
  };
}

function idOf(digit: string): string {
  return `req_0${digit}${"0".repeat(24)}`;
}

function receiptOf(digit: string, snapshot: string): ListedReceipt {
  return {
    ...{ id: idOf(digit), created_at: "2026-11-02T10:00:00Z", basis: "usage", model: "alder-4b" },
    ...{ charge_nano_usd: CENT, held_nano_usd: CENT, price_snapshot: snapshot, served_by: "protocol", offer: null },
    ...{ tokens_prompt: 10, tokens_completion: 1, native_tokens_cached: 0, native_tokens_cache_write: 0 },
  } as ListedReceipt;
}

/** One more use of a cent, of which the chain knows nothing. */
function charge({ said }: Evidence, day: string): void {
  said.receipts.push({ ...first(said.receipts), id: idOf("2"), created_at: `${day}T10:00:00Z` });
  said.totals = { ...said.totals, [day]: CENT };
  said.credits.total_usage_nano_usd += CENT;
  said.credits.available_nano_usd -= CENT;
}

function outcomes(evidence: Evidence): Partial<Record<Check["id"], Check["outcome"]>> {
  return Object.fromEntries(judge(evidence).checks.map(({ id, outcome }) => [id, outcome]));
}

function detail(evidence: Evidence, id: Check["id"]): string {
  return judge(evidence).checks.find((check) => check.id === id)?.detail ?? "";
}

function first<T>(items: readonly T[]): T {
  return items[0] as T;
}
