import { deepEqual, equal, match, ok } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { makeLeafOf } from "@inference/protocol/use-leaf";
import { bytesToHex, sha256, toBytes } from "viem";
import type { StatementUse } from "../spending.ts";
import {
  ACCOUNT,
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
import { settledUseOf } from "./statements.ts";

/** Lies are told in evidence that is made here. `verify.test.ts` has a real gateway and real chains. */
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

/** What a gateway may do, with roots and chunks that fit, and the check that fails. */
type Lie = { caughtBy: Check["id"]; says: RegExp; story?: (story: Story) => void; tell?: (evidence: Evidence) => void };

/** Audit F3: the five ways in which a gateway could lie and pass. */
const knownLies: Record<string, Lie> = {
  "a request that it repeats with the key that it saw": {
    caughtBy: "requests",
    says: /^1 uses of \$0\.01 are no requests of yours, such as req_06/,
    story: ({ billed }) => billed.push(billedAt(6, DAY)),
  },
  "an agent's serve that it books as the provider's": {
    caughtBy: "served",
    says: /name \$0\.01 of 0xe{40} on 2026-11-02, and the records \$0: a tenth of it is due back$/,
    story: (story) => {
      story.parts = [[], []];
    },
  },
  "uses that nobody made, of which it keeps no receipts": {
    caughtBy: "requests",
    says: /^3 uses of \$0\.03 are no requests of yours/,
    story: (story) => {
      story.billed = story.billed.map((each) => ({ ...each, id: each.id.replace("req_0", "req_1") }));
    },
    tell: ({ said }) => {
      said.receipts = [];
      said.retentionDays = 0;
    },
  },
  "a charge without its tokens, of a model that is priced by tokens": {
    caughtBy: "usage",
    says: /was charged without its tokens/,
    story: ({ billed }) => changeLast(billed, { basis: "flat" }),
  },
  "one request that it bills twice": {
    caughtBy: "leaves",
    says: /^the request req_04.* is charged twice$/,
    story: ({ billed }) => billed.push({ ...last(billed), id: "req_04000000000000000000000000" }),
  },
};

const moreLies: Record<string, Lie> = {
  "a debit without uses": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.01: no listed uses make the root of the statement from \$0\.05\. Ask the operator/,
    tell: ({ said, chain }) => {
      const root = `0x${"c".repeat(64)}`;
      const record = recordAt({ before_nano_usd: 5 * CENT, amount_nano_usd: CENT, root, parts: [] });
      said.records.push(record);
      if (chain === null) return;
      chain.debitedNanoUsd = String(6 * CENT);
      chain.blocks[record.chunk.root] = 9;
    },
  },
  "debits that leave a stretch out": {
    caughtBy: "debits",
    says: /^a record begins at \$0\.03, and the one before it ends at \$0\.005$/,
    tell: ({ said }) => said.records.splice(1, 1),
  },
  "fewer debits than the chain has": {
    caughtBy: "debits",
    says: /^the records end at \$0\.03, and the chain debited \$0\.05$/,
    tell: ({ said }) => said.records.pop(),
  },
  "a chunk that the contract does not have": {
    caughtBy: "debits",
    says: /^the contract has no chunk 0x/,
    tell: ({ said, chain }) => {
      if (chain !== null) chain.blocks[last(said.records).chunk.root] = 0;
    },
  },
  "a record of another amount than its chunk has": {
    caughtBy: "debits",
    says: /^the record from \$0\.03 is not in its chunk$/,
    tell: ({ said }) => {
      last(said.records).amount_nano_usd -= 1;
    },
  },
  "a higher charge than it signed": {
    caughtBy: "requests",
    says: /^the use req_05.* is not what its signed receipt says$/,
    story: ({ billed }) => changeLast(billed, { charge: 2 * CENT }),
  },
  "receipts that another key signs": {
    caughtBy: "requests",
    says: /^no receipt of the log is signed with the contract's key$/,
    tell: (evidence) => {
      const { privateKey } = generateKeyPairSync("ed25519");
      evidence.log = { receipts: honestStory().kept.map((each) => signedOf(each, {}, privateKey)), isComplete: true };
    },
  },
  "a debit above what its uses come to": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.02: .* of the statement from \$0\.03/,
    tell: ({ said, chain }) => {
      const leaf = makeLeafOf({ chainId: 1, address: SETTLEMENT }, ACCOUNT)(
        settledUseOf(said.uses[3] as StatementUse),
        3 * CENT,
      );
      const record = recordAt({ ...last(said.records), root: bytesToHex(leaf) });
      said.records[2] = record;
      if (chain !== null) chain.blocks[record.chunk.root] = 9;
    },
  },
  "a statement with a stretch for which there is no use": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.02: .* of the statement from \$0\.03/,
    story: ({ billed }) => Object.assign(billed[4] ?? {}, { charge: CENT / 2, gap: CENT / 2 }),
  },
  "a receipt of another charge than its leaf has": {
    caughtBy: "leaves",
    says: /^the use req_05.* is not what its receipt says$/,
    tell: ({ said }) => {
      last(said.receipts).charge_nano_usd -= 1;
    },
  },
  "less spent than was debited": {
    caughtBy: "balance",
    says: /^more was debited on chain than the gateway says was spent$/,
    tell: ({ said }) => {
      if (said.balance !== null) said.balance.credits.total_usage_nano_usd = 4 * CENT;
    },
  },
  "prices in the receipt that are not those of the leaf": {
    caughtBy: "leaves",
    says: /^the use req_05.* is not what its receipt says$/,
    tell: ({ said }) => {
      last(said.receipts).price_snapshot = "d".repeat(32);
    },
  },
  "prices that it changes later": {
    caughtBy: "prices",
    says: /^the published prices are not those of the snapshot/,
    tell: ({ said }) => {
      said.prices = { [SNAPSHOT]: (said.prices[SNAPSHOT] ?? "").replace("0.001", "0.002") };
    },
  },
  "a charge above the usage": {
    caughtBy: "usage",
    says: /cost \$0\.01, and its usage \$0\.009$/,
    tell: ({ said }) => {
      last(said.receipts).tokens_prompt = 9;
    },
  },
  "a charge above what was held": {
    caughtBy: "usage",
    says: /was charged more than was held for it$/,
    tell: ({ said }) => {
      last(said.receipts).held_nano_usd = CENT - 1;
    },
  },
  "a use that is left out of its statement": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.03/,
    tell: ({ said }) => said.uses.splice(0, 1),
  },
  "two uses that change places": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.02/,
    tell: ({ said }) => {
      const [one, other] = [said.uses[3], said.uses[4]];
      if (one === undefined || other === undefined) return;
      said.uses.splice(
        3,
        2,
        { ...other, ends_at_nano_usd: one.ends_at_nano_usd },
        { ...one, ends_at_nano_usd: 5 * CENT },
      );
    },
  },
  "uses that overlap": {
    caughtBy: "leaves",
    says: /overlaps with the one before it$/,
    tell: ({ said }) => {
      last(said.uses).ends_at_nano_usd -= 1;
    },
  },
  "spending without a use": {
    caughtBy: "leaves",
    says: /^the uses end at \$0\.05, and \$0\.06 was spent$/,
    tell: ({ said }) => said.uses.pop(),
  },
  "another day than its leaf has": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.02/,
    tell: ({ said }) => {
      const [use, receipt] = [said.uses[3], said.receipts[3]];
      if (use !== undefined) use.day_served = "2026-11-02";
      if (receipt !== undefined) receipt.created_at = "2026-11-02T10:00:00Z";
    },
  },
  "a tenth that goes back for another account": {
    caughtBy: "served",
    says: /^agents served \$0\.01 by the records, and \$0\.005 by the chain$/,
    tell: ({ chain }) => {
      if (chain !== null) chain.servedNanoUsd = String(CENT / 2);
    },
  },
  "a part for an agent that no use names": {
    caughtBy: "served",
    says: /and the records \$0\.02: a tenth/,
    story: (story) => {
      const part = { agent: AGENT, day: DAY, amount: 0.02, amount_nano_usd: 2 * CENT };
      story.parts = [[{ ...part, day: "2026-11-02", amount_nano_usd: CENT }], [part]];
    },
  },
  "a use that it never posts": {
    caughtBy: "waiting",
    says: /^\$0\.01 is not final on chain, .*: a use waits for at most 7 days, and the chain is at 2026-11-12/,
    tell: ({ chain }) => {
      if (chain !== null) chain.at = "2026-11-12T00:00:00Z";
    },
  },
  "a use of the future, which never waits": {
    caughtBy: "waiting",
    says: /the oldest use of 2027-01-01/,
    story: ({ billed }) => changeLast(billed, { day: "2027-01-01" }),
  },
  "less credit than was activated": {
    caughtBy: "balance",
    says: /^the gateway credits \$0\.9, and \$1 was activated up to block 10$/,
    tell: ({ said }) => {
      if (said.balance !== null) said.balance.credits.total_credits_nano_usd -= 10 * CENT;
    },
  },
  "less left than there is": {
    caughtBy: "receipts",
    says: /^spent, reserved and available do not come to the credits$/,
    tell: ({ said }) => {
      if (said.balance !== null) said.balance.credits.available_nano_usd -= 1;
    },
  },
  "more spent than the days come to": {
    caughtBy: "receipts",
    says: /^the days come to \$0\.05, and \$0\.06 was spent$/,
    tell: ({ said }) => {
      if (said.balance !== null) said.balance.totals = { [DAY]: 5 * CENT };
    },
  },
  "another settlement contract": {
    caughtBy: "contract",
    says: /and the gateway names 0x6{40}$/,
    tell: ({ contract }) => {
      contract.named = OTHER;
    },
  },
  "an answer that is none of its kind": {
    caughtBy: "leaves",
    says: /^what was said cannot be read/,
    tell: ({ said }) => {
      Object.assign(last(said.uses), { id: null });
      said.records = [{ ...last(said.records), before_nano_usd: 0, root: "x" }];
    },
  },
};

for (const [name, { caughtBy, says, story: change, tell }] of Object.entries({ ...knownLies, ...moreLies })) {
  test(`a gateway with ${name} fails`, async () => {
    const story = honestStory();
    change?.(story);
    const evidence = evidenceOf(story);
    tell?.(evidence);
    const { outcome, checks } = await judge(evidence);
    equal(outcome, "fail");
    const check = checks.find(({ id }) => id === caughtBy);
    deepEqual([check?.outcome, says.test(check?.detail ?? "")], ["fail", true], JSON.stringify(checks, null, 1));
  });
}

test("without a log of one's own, it is said beforehand that invented requests pass", async () => {
  const story = honestStory();
  story.billed.push(billedAt(6, DAY));
  const { outcome, checks, notProven } = await judge({ ...evidenceOf(story), log: null });
  deepEqual([outcome, checks.some(({ id }) => id === "requests")], ["pass", false]);
  match(notProven[0] ?? "", /^That you made these requests/);
});

test("a log that is not complete leaves uses unproved, with how much they are, and still fails a wrong charge", async () => {
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

test("of a complete log, uses of before its first receipt are not proved, and do not fail", async () => {
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

test("a use that differs from its signed receipt in charge, prices, day or server fails", async () => {
  const changes = [
    { cost_nano_usd: CENT - 1 },
    { snapshot: "d".repeat(32) },
    { day: 1 },
    { served_by: AGENT },
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

test("what was spent may exceed the receipts by what was taken over, and by no more", async () => {
  const evidence = structuredClone(honest);
  ok(evidence.said.balance !== null);
  evidence.said.receipts.pop();
  evidence.said.balance.totals = { "2026-11-02": 3 * CENT, [DAY]: 2 * CENT };
  evidence.said.balance.credits.taken_over_nano_usd = CENT;
  equal(await outcomeOf(evidence, "receipts"), "pass");
  evidence.said.balance.credits.taken_over_nano_usd = CENT - 1;
  equal(await outcomeOf(evidence, "receipts"), "fail");
});

test("of two signed receipts of one request the cheaper one holds", async () => {
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

test("charges without a count of tokens leave the usage unproved: it is skipped, with how much they are", async () => {
  const story = honestStory();
  changeLast(story.billed, { basis: "delivered" });
  equal((await judge(evidenceOf(story))).outcome, "skipped");
  match(await detail(evidenceOf(story), "usage"), /^5 of 6 charges; 1 others, of \$0\.01, have no count of tokens$/);
});

test("receipts and prices that are not kept any more are skipped, by the retention that the gateway names", async () => {
  const evidence = structuredClone(honest);
  evidence.madeAt = "2027-03-01T00:00:00Z";
  evidence.said.receipts.pop();
  deepEqual([await outcomeOf(evidence, "receipts"), await outcomeOf(evidence, "leaves")], ["skipped", "skipped"]);
  match(await detail(evidence, "leaves"), /the receipts of 1, of \$0\.01, are not kept any more$/);
  evidence.said.prices = { [SNAPSHOT]: null };
  deepEqual([await outcomeOf(evidence, "prices"), await outcomeOf(evidence, "usage")], ["skipped", "skipped"]);
});

test("what is less than a cent may wait for a month", async () => {
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

test("whoever made a bundle is trusted in every check, and cannot say that its contract is the right one", async () => {
  const { checks, outcome } = await judge(honest, { isBundle: true });
  for (const { id, trusts } of checks) match(trusts.join(), /whoever made this bundle/, id);
  equal(outcome, "skipped");
  const contractOf = (settlement: `0x${string}`) => outcomeOf(honest, "contract", { isBundle: true, settlement });
  deepEqual([await contractOf(SETTLEMENT), await contractOf(OTHER)], ["pass", "fail"]);
});

test("without an address and a node of one's own, each check that asks the chain names who chose them", async () => {
  const evidence = structuredClone(honest);
  evidence.contract.isPinned = false;
  for (const { id, trusts } of (await judge(evidence)).checks) {
    const asksChain = ["contract", "debits", "requests", "served", "waiting", "balance", "books"].includes(id);
    equal(/the gateway, for the contract's address/.test(trusts.join()), asksChain, id);
  }
});

test("a bill of some days is judged by its statements alone, and without a node it says what that leaves unproved", async () => {
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
