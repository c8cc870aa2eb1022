import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { sha256, toBytes } from "viem";
import {
  AGENT,
  type Billed,
  billedAt,
  CENT,
  evidenceOf,
  honestStory,
  recordAt,
  SETTLEMENT,
  SNAPSHOT,
  type Story,
  signedOf,
} from "../testing/told-bill.ts";
import type { Evidence } from "./evidence.ts";
import { type Check, type JudgeOptions, judge } from "./judge.ts";

/**
 * The evidence is made here. `lies.test.ts` has a row for each lie, and `verify.test.ts` a real gateway and real
 * chains.
 */
const honest = evidenceOf(honestStory());
const DAY = "2026-11-03";
const OTHER = `0x${"6".repeat(40)}` as const;

test("an honest gateway passes every check", async () => {
  const { outcome, checks } = await judge(honest);
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  match(await detail(honest, "debits"), /^3 records of \$0\.05$/);
  match(await detail(honest, "leaves"), /^5 uses in 2 statements; 1 are not final yet$/);
  match(await detail(honest, "requests"), /^6 of 6 uses are requests of yours$/);
  match(await detail(honest, "served"), /^agents served \$0\.01; \$0\.001 came back in tokens, \$0 can be pulled/);
  match(await detail(honest, "waiting"), /^\$0\.01 is not final on chain, the oldest use of 2026-11-03$/);
});

test("an incomplete log leaves uses unproved, with their sum, and still fails a wrong charge", async () => {
  const story = honestStory();
  story.kept = story.kept.slice(0, 4);
  const evidence = evidenceOf(story);
  equal(await outcomeOf({ ...evidence, log: logOf(story, true) }, "requests"), "fail");
  const some = { ...evidence, log: logOf(story, false) };
  deepEqual(await outcomeOf(some, "requests"), "skipped");
  match(await detail(some, "requests"), /^4 of 6 uses are requests of yours; 2 uses of \$0\.02 are not in the log$/);
  story.kept = story.kept.map((each) => ({ ...each, charge: CENT - 1 }));
  equal(await outcomeOf({ ...evidence, log: logOf(story, false) }, "requests"), "fail");
});

test("uses before the first receipt of a complete log are not proved, and do not fail", async () => {
  const story = honestStory();
  story.kept = story.kept.slice(3);
  const evidence = evidenceOf(story);
  equal(await outcomeOf(evidence, "requests"), "skipped");
  match(await detail(evidence, "requests"), /3 uses of \$0\.03 are not in the log$/);
});

test("a receipt that was never charged is in the customer's favour", async () => {
  const story = honestStory();
  story.kept.push(billedAt(7, DAY));
  equal(await outcomeOf(evidenceOf(story), "requests"), "pass");
  match(await detail(evidenceOf(story), "requests"), /1 receipts of \$0\.01 were never charged, in your favour$/);
});

test("a use that differs from its signed receipt in charge, prices, day, server or offer fails", async () => {
  const changes = [
    { cost_nano_usd: CENT - 1 },
    { snapshot: "d".repeat(32) },
    { day: 1 },
    { served_by: AGENT },
    { offer: `0x${"0e".repeat(32)}` },
  ] as const;
  for (const changed of changes) {
    const log = { receipts: honestStory().kept.map((each) => signedOf(each, changed)), isComplete: false };
    match(await detail({ ...honest, log }, "requests"), /^the use req_00.* is not what its signed receipt says$/);
  }
});

test("signed receipts of another account, contract or chain do not count", async () => {
  for (const changed of [{ sub: OTHER }, { settlement: OTHER }, { chain_id: 2 }]) {
    const log = { receipts: honestStory().kept.map((each) => signedOf(each, changed)), isComplete: true };
    match(
      await detail({ ...honest, log }, "requests"),
      /^0 of 6 uses are requests of yours; 6 uses of \$0\.06 are not/,
    );
  }
});

test("spending may exceed the receipts by the takeover, and by no more", async () => {
  const evidence = structuredClone(honest);
  ok(evidence.said.balance !== null);
  evidence.said.receipts.pop();
  evidence.said.balance.totals = { "2026-11-02": 3 * CENT, [DAY]: 2 * CENT };
  evidence.said.balance.credits.taken_over_nano_usd = CENT;
  equal(await outcomeOf(evidence, "receipts"), "pass");
  evidence.said.balance.credits.taken_over_nano_usd = CENT - 1;
  equal(await outcomeOf(evidence, "receipts"), "fail");
});

test("the cheaper of two signed receipts of one request counts", async () => {
  const evidence = structuredClone(honest);
  const cheaper = signedOf({ ...billedAt(5, DAY), charge: 1 });
  for (const receipts of [
    [cheaper, ...(honest.log?.receipts ?? [])],
    [...(honest.log?.receipts ?? []), cheaper],
  ]) {
    evidence.log = { receipts, isComplete: true };
    match(await detail(evidence, "requests"), /^the use req_05.* is not what its signed receipt says$/);
  }
});

test("a statement that another debit cut off is proved by the uses that go on behind it", async () => {
  // The first statement was paid to $0.015 only; another debit, without uses, took the next half cent.
  const evidence = structuredClone(honest);
  const [clipped, whole] = evidence.said.records;
  ok(clipped !== undefined && whole !== undefined);
  const part = { ...whole, before_nano_usd: CENT / 2, amount_nano_usd: CENT, parts: [] };
  const foreign = { before_nano_usd: 1.5 * CENT, amount_nano_usd: CENT / 2, root: `0x${"c".repeat(64)}`, parts: [] };
  evidence.said.records = [clipped, recordAt(part), recordAt(foreign)];
  match(await detail(evidence, "leaves"), /^unproven, \$0\.005: .* of the statement from \$0\.015/);
});

test("charges without a count of tokens are skipped by the check of usage, with their sum", async () => {
  const story = honestStory();
  changeLast(story.billed, { basis: "delivered" });
  equal((await judge(evidenceOf(story))).outcome, "skipped");
  match(await detail(evidenceOf(story), "usage"), /^5 of 6 charges; 1 others, of \$0\.01, have no count of tokens$/);
});

test("deleted receipts and prices are skipped, by the gateway's retention", async () => {
  const evidence = structuredClone(honest);
  evidence.madeAt = "2027-03-01T00:00:00Z";
  evidence.said.receipts.pop();
  deepEqual([await outcomeOf(evidence, "receipts"), await outcomeOf(evidence, "leaves")], ["skipped", "skipped"]);
  match(await detail(evidence, "leaves"), /the receipts of 1, of \$0\.01, are not kept any more$/);
  evidence.said.prices = { [SNAPSHOT]: null };
  deepEqual([await outcomeOf(evidence, "prices"), await outcomeOf(evidence, "usage")], ["skipped", "skipped"]);
});

test("deleted records and uses are skipped, with their sum, and not a day earlier", async () => {
  const older = structuredClone(honest);
  older.said.records.shift();
  // The ceiling of 1 November pays until 2 November, 05:45.
  older.madeAt = "2027-01-30T00:00:00Z";
  deepEqual([await outcomeOf(older, "debits"), await outcomeOf(older, "leaves")], ["fail", "fail"]);
  older.madeAt = "2027-01-30T00:00:01Z";
  match(await detail(older, "debits"), /^2 records of \$0\.045; older ones, of \$0\.005, are not kept any more$/);
  match(await detail(older, "leaves"), /; the uses of 1 statements, of \$0\.025, are not kept any more$/);
  equal((await judge(older)).outcome, "skipped");

  const old = structuredClone(honest);
  old.madeAt = "2027-01-31T00:00:01Z";
  old.said.uses.splice(0, 3);
  old.said.receipts.splice(0, 3);
  match(
    await detail(old, "leaves"),
    /^2 uses in 1 statements; 1 are not final yet; the uses of 1 statements, of \$0\.03/,
  );
  equal((await judge(old)).outcome, "skipped");
  old.said.records = [];
  old.said.uses.splice(0, 2);
  old.said.receipts.splice(0, 2);
  old.madeAt = "2027-02-01T00:00:01Z";
  equal((await judge(old)).outcome, "skipped");
  match(await detail(old, "debits"), /^0 records of \$0; older ones, of \$0\.05, are not kept any more$/);
  match(await detail(old, "served"), /^agents served \$0\.01; .*; the records of \$0\.01 are not kept any more$/);
  equal(await outcomeOf({ ...old, chain: null }, "leaves"), "pass");
});

test("uses of a bill may be deleted if their statement begins before the first use that is kept", async () => {
  const bill: Evidence = structuredClone({ ...honest, period: { from: "2026-11-02", to: DAY }, books: null });
  bill.said.balance = null;
  bill.said.uses.splice(0, 1);
  equal(await outcomeOf(bill, "leaves"), "fail");
  bill.madeAt = "2027-01-30T00:00:01Z";
  match(await detail(bill, "leaves"), /; the uses of 1 statements, of \$0\.03, are not kept any more$/);
  equal(await outcomeOf(bill, "leaves"), "skipped");
  bill.said.uses.splice(3, 1);
  match(await detail(bill, "leaves"), /^unproven, \$0\.02: .* of the statement from \$0\.03/);
});

test("a statement below a cent may wait for a month", async () => {
  const story = honestStory();
  changeLast(story.billed, { charge: CENT / 10 });
  story.kept = story.billed;
  const evidence = evidenceOf(story);
  ok(evidence.chain !== null);
  evidence.chain.at = "2026-12-06T00:00:00Z";
  equal(await outcomeOf(evidence, "waiting"), "pass");
  evidence.chain.at = "2026-12-07T00:00:00Z";
  match(await detail(evidence, "waiting"), /at most 33 days/);
});

test("a snapshot's id is its whole digest: no shorter text stands for it", async () => {
  for (const length of [0, 1, 31, 64]) {
    const evidence = structuredClone(honest);
    const text = JSON.stringify({ data: [{ id: "alder-4b", pricing: { prompt: "1", completion: "1" } }] });
    const id = sha256(toBytes(text)).slice(2, 2 + length);
    for (const each of [...evidence.said.uses, ...evidence.said.receipts]) each.price_snapshot = id;
    evidence.said.prices = { [id]: text };
    deepEqual([length, await outcomeOf(evidence, "prices")], [length, "fail"]);
  }
});

test("the maker of a bundle is trusted in every check, but not for its contract", async () => {
  const { checks, outcome } = await judge(honest, { isBundle: true });
  for (const { id, trusts } of checks) match(trusts.join(), /whoever made this bundle/, id);
  equal(outcome, "skipped");
  const contractOf = (settlement: `0x${string}`) => outcomeOf(honest, "contract", { isBundle: true, settlement });
  deepEqual([await contractOf(SETTLEMENT), await contractOf(OTHER)], ["pass", "fail"]);
});

test("without the reader's address and node, each check of the chain names their chooser", async () => {
  const evidence = structuredClone(honest);
  evidence.contract.isPinned = false;
  for (const { id, trusts } of (await judge(evidence)).checks) {
    const asksChain = ["contract", "debits", "requests", "served", "waiting", "balance", "books"].includes(id);
    equal(/the gateway, for the contract's address/.test(trusts.join()), asksChain, id);
  }
});

test("a bill of some days is judged by its statements alone, and names the facts that need a node", async () => {
  const bill: Evidence = structuredClone({ ...honest, period: { from: DAY, to: DAY }, books: null });
  bill.said.balance = null;
  bill.said.records.splice(0, 2);
  bill.said.uses.splice(0, 3);
  const { checks, outcome } = await judge(bill);
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  deepEqual(
    checks.map(({ id }) => id),
    ["contract", "prices", "usage", "debits", "leaves", "requests", "served"],
  );
  const unasked = { ...bill, chain: null };
  equal((await judge(unasked)).outcome, "skipped");
  match(await detail(unasked, "debits"), /^no node was asked/);
  bill.said.uses.splice(1, 1);
  equal((await judge(bill)).outcome, "fail");
});

function logOf({ kept }: Story, isComplete: boolean): Evidence["log"] {
  return { receipts: kept.map((each) => signedOf(each)), isComplete };
}

function changeLast(billed: Billed[], change: Partial<Billed>): void {
  Object.assign(last(billed), change);
}

async function outcomeOf(evidence: Evidence, id: Check["id"], options?: JudgeOptions) {
  return (await judge(evidence, options)).checks.find((check) => check.id === id)?.outcome;
}

async function detail(evidence: Evidence, id: Check["id"]): Promise<string> {
  return (await judge(evidence)).checks.find((check) => check.id === id)?.detail ?? "";
}

function last<T>(items: readonly T[]): T {
  return items.at(-1) as T;
}
