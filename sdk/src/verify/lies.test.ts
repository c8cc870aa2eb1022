import { deepEqual, equal, ok } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { makeLeafOf } from "@inference/protocol/use-leaf";
import { bytesToHex } from "viem";
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
import { type Check, judge } from "./judge.ts";
import { settledUseOf } from "./statements.ts";

/** Each way in which a gateway may lie is a row: a check fails it, or a sentence says beforehand that none does. */
const DAY = "2026-11-03";
const OTHER = `0x${"6".repeat(40)}` as const;
const secondary = {
  ...({ chainId: 2, node: "the client", supplyToken: "10", lineToken: "0", giftedToken: "0" } as const),
  ...{ outboxToken: "10", flushedToken: "0", bookedToken: "0", dollarsToken: "10" },
};

/** A lie of a gateway, with fitting roots and chunks, and the check that fails. */
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
  "a debit without uses, which it says that it took over": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.03: no listed uses make the root of the statement from \$0\./,
    tell: ({ said }) => {
      if (said.balance !== null) said.balance.credits.taken_over_nano_usd = 10 * CENT;
      said.uses.splice(0, 3);
    },
  },
  "a young debit without uses, behind old ones that it forgot": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.02: .* of the statement from \$0\.03/,
    tell: (evidence) => {
      const { said } = evidence;
      evidence.madeAt = "2027-01-30T12:00:00Z";
      if (said.balance !== null) said.balance.credits.taken_over_nano_usd = 10 * CENT;
      said.uses.splice(4, 1);
    },
  },
  "uses that nobody made in a debit that is old": {
    caughtBy: "leaves",
    says: /^unproven, \$0\.03: .* of the statement from \$0\./,
    tell: (evidence) => {
      evidence.madeAt = "2027-03-01T00:00:00Z";
      evidence.said.receipts = [];
      for (const use of evidence.said.uses.slice(0, 3)) use.id = use.id.replace("req_0", "req_1");
    },
  },
  "a young debit that it leaves out, behind old ones that it forgot": {
    caughtBy: "debits",
    says: /^the records end at \$0\.03, and the chain debited \$0\.05$/,
    tell: (evidence) => {
      evidence.madeAt = "2027-01-30T12:00:00Z";
      evidence.said.records.shift();
      evidence.said.records.pop();
    },
  },
  "debits that leave a stretch out": {
    caughtBy: "debits",
    says: /^a record begins at \$0\.03, and the one before it ends at \$0\.005$/,
    tell: ({ said }) => said.records.splice(1, 1),
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
  "another settlement contract": {
    caughtBy: "contract",
    says: /and the gateway names 0x6{40}$/,
    tell: ({ contract }) => {
      contract.named = OTHER;
    },
  },
  "a receipt that it lists twice": {
    caughtBy: "receipts",
    says: /^a receipt is in the list twice$/,
    tell: ({ said }) => said.receipts.push(last(said.receipts)),
  },
  "receipts that it leaves out": {
    caughtBy: "receipts",
    says: /^the receipts of 2026-11-03 come to \$0\.02, and its total is \$0\.03$/,
    tell: ({ said }) => said.receipts.pop(),
  },
  "more receipts than the day's total": {
    caughtBy: "receipts",
    says: /^the receipts of 2026-11-02 come to \$0\.03, and its total is \$0\.02$/,
    tell: ({ said }) => {
      if (said.balance !== null) said.balance.totals = { "2026-11-02": 2 * CENT, [DAY]: 4 * CENT };
    },
  },
  "less spent than the days come to": {
    caughtBy: "receipts",
    says: /^the days come to \$0\.06, and \$0\.05 was spent$/,
    tell: ({ said }) => {
      if (said.balance === null) return;
      said.balance.credits.total_usage_nano_usd -= CENT;
      said.balance.credits.available_nano_usd += CENT;
    },
  },
  "a usage of a model that has no price of tokens": {
    caughtBy: "usage",
    says: /rests on a usage of oak-image, which its prices have no cost for$/,
    tell: ({ said }) => {
      last(said.receipts).model = "oak-image";
    },
  },
  "a use for which it has no receipt": {
    caughtBy: "leaves",
    says: /^the use req_05.* has no receipt$/,
    tell: ({ said }) => said.receipts.pop(),
  },
  "uses that wait, with a stretch between them for which there is none": {
    caughtBy: "leaves",
    says: /^no use was charged from \$0\.06 on$/,
    story: ({ billed }) => billed.push({ ...billedAt(6, DAY), gap: CENT }),
  },
  "a use that charges nothing": {
    caughtBy: "leaves",
    says: /^the use req_05.* overlaps with the one before it$/,
    story: ({ billed }) => changeLast(billed, { charge: 0 }),
  },
  "a debit of nothing": {
    caughtBy: "debits",
    says: /^a record begins at \$0\.05, and the one before it ends at \$0\.05$/,
    tell: ({ said, chain }) => {
      const record = recordAt({ ...last(said.records), before_nano_usd: 5 * CENT, amount_nano_usd: 0 });
      said.records.push(record);
      if (chain !== null) chain.blocks[record.chunk.root] = 9;
    },
  },
  "a bill that ends above what the chain debited": {
    caughtBy: "debits",
    says: /^the records end at \$0\.05, and the chain debited \$0\.04$/,
    tell: (evidence) => {
      evidence.period = { from: "2026-11-02", to: DAY };
      if (evidence.chain !== null) evidence.chain.debitedNanoUsd = String(4 * CENT);
    },
  },
  "books that have more claims than backing": {
    caughtBy: "books",
    says: /^on the primary chain, backing is not supply, credit, owed and lines together$/,
    tell: ({ books }) => {
      if (books !== null) books.primary.owedNanoUsd = "1";
    },
  },
  "fewer dollars than its books say": {
    caughtBy: "books",
    says: /^the minter has fewer dollars than its books say$/,
    tell: ({ books }) => {
      if (books !== null) books.primary.dollarsToken = "949999";
    },
  },
  "a secondary chain with more tokens than dollars": {
    caughtBy: "books",
    says: /^chain 2 has more tokens than dollars behind them$/,
    tell: ({ books }) => books?.secondaries.push({ ...secondary, supplyToken: "11" }),
  },
  "an outbox without its dollars": {
    caughtBy: "books",
    says: /^the outbox of chain 2 has fewer dollars than its books say$/,
    tell: ({ books }) => books?.secondaries.push({ ...secondary, dollarsToken: "9" }),
  },
  "a chain that it leaves out": {
    caughtBy: "books",
    says: /^the gateway leaves a chain out: lines of \$0 are of chains that it names, of \$0\.01$/,
    tell: ({ books }) => {
      if (books === null) return;
      Object.assign(books.primary, { creditNanoUsd: String(94 * CENT), linesNanoUsd: String(CENT) });
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

/** A lie that no check catches: the bill passes, or a check names the unproven sum. */
type Unprovable = { outcome: "pass" | "skipped"; saidBefore: RegExp } & Pick<Lie, "story" | "tell">;

const unprovable: Record<string, Unprovable> = {
  "a request that nobody made, to who kept no receipts": {
    outcome: "pass",
    saidBefore: /^That you made these requests: a gateway that repeats or invents some passes\./,
    story: ({ billed }) => billed.push(billedAt(6, DAY)),
    tell: (evidence) => {
      evidence.log = null;
    },
  },
  "a request that nobody made, to who kept some receipts": {
    outcome: "skipped",
    saidBefore: /^That you made the requests that are not in your log: a check names their sum\.$/,
    story: ({ billed }) => billed.push(billedAt(6, DAY)),
    tell: (evidence) => {
      if (evidence.log !== null) evidence.log = { ...evidence.log, isComplete: false };
    },
  },
  "twice the tokens that the provider counted": {
    outcome: "pass",
    saidBefore: /^That the provider counted tokens rightly .* and that the gateway tells its count\.$/,
    story: (story) => {
      changeLast(story.billed, { charge: 2 * CENT });
      story.kept = story.billed;
    },
  },
  "too high a charge of a stream that broke": {
    outcome: "skipped",
    saidBefore: /^Charges that do not rest on a usage, such as those of broken streams and images/,
    story: (story) => {
      changeLast(story.billed, { basis: "delivered", charge: 2 * CENT });
      story.kept = story.billed;
    },
  },
  "a use that waits for a week because of it": {
    outcome: "pass",
    saidBefore: /^That what waits is posted: a check fails only 7 days after the day in the receipt/,
    tell: ({ chain }) => {
      if (chain !== null) chain.at = "2026-11-10T00:00:00Z";
    },
  },
  "prices that it publishes after the request": {
    outcome: "pass",
    saidBefore: /^That prices were announced before they were used: only the gateway says when a price took effect\.$/,
  },
  "a further chain whose line is empty": {
    outcome: "pass",
    saidBefore: /^That no further chain exists: .* by their dollars\.$/,
  },
  "a wrong bill of another account": {
    outcome: "pass",
    saidBefore: /^The charges of other accounts: each can check its own\.$/,
  },
};

for (const [name, { outcome, saidBefore, story: change, tell }] of Object.entries(unprovable)) {
  test(`before the checks it is said that ${name} is not proven`, async () => {
    const story = honestStory();
    change?.(story);
    const evidence = evidenceOf(story);
    tell?.(evidence);
    const verdict = await judge(evidence);
    deepEqual(verdict.outcome, outcome, JSON.stringify(verdict.checks, null, 1));
    ok(
      verdict.notProven.some((sentence) => saidBefore.test(sentence)),
      verdict.notProven.join("\n"),
    );
  });
}

function changeLast(billed: Billed[], change: Partial<Billed>): void {
  Object.assign(last(billed), change);
}

function last<T>(items: readonly T[]): T {
  return items.at(-1) as T;
}
