import assert from "node:assert/strict";
import { test } from "node:test";
import type { Activation, Commands } from "./commands.ts";
import { ceilingPartition, chainPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import type { SettledBatch } from "./settled-batch.ts";
import { account, makeExample, noon, reserve, settle } from "./testing/example.ts";

const chain = chainPartition(8453);
const address = account.slice("account:".length);
type Advance = Commands["advance"]["command"];

const activation = (id: number, amountToken: number, totalActivated: number): Activation => {
  const amounts = { amountToken: `${amountToken}`, totalActivated: `${totalActivated}` };
  return { id, account: address, ...amounts, block: 10, transaction: "0xaa" };
};

const batch = (id: number, amount: number, more: Partial<SettledBatch> = {}): SettledBatch => ({
  ...{ id, day: "2027-06-15", root: `root ${id}`, entries: `entries ${id}`, block: 20, transaction: "0xbb" },
  ...{ amountNanoUsd: `${amount}`, paidAfterNanoUsd: `${amount}`, totalDebitedNanoUsd: `${amount}` },
  debits: [{ account: address, amountNanoUsd: `${amount}` }],
  ...more,
});

const advance = (block: number, more: Partial<Advance>): Advance => ({
  ...{ type: "advance", at: noon, chainId: 8453, block, blockHash: `hash ${block}`, activations: [], batches: [] },
  ...more,
});

const credit = (creditNanoUsd: number) => ({ credits: [{ account: address, creditNanoUsd: `${creditNanoUsd}` }] });

/** The account has 10,000 nano-dollars from the chain, and has spent nothing. */
function open() {
  const host = makeExample({ balance: 0 });
  const command = advance(10, { activations: [activation(1, 10, 10)], ...credit(10_000) });
  assert.equal(host.apply(chain, command).status, "advanced");
  host.deliverAll();
  return host;
}

const balance = (host: ReturnType<typeof open>) => answer(host.rows(account), { type: "balance", at: noon });

/** As a settler would have posted it. */
function post(host: ReturnType<typeof open>, id: number, amountNanoUsd: number): void {
  const name = { batch: id, openedAt: noon };
  host.apply(chain, { type: "openBatch", ...name, journal: "2027-06-15" });
  const built = { root: `root ${id}`, entries: `entries ${id}`, uses: 1, amountNanoUsd };
  host.apply(chain, { type: "buildBatch", ...name, ...built, firstUse: "a", lastUse: "a" });
  const terms = { hash: "0xbb", raw: "0x", nonce: 0, maxFeePerGasWei: "1", day: "2027-06-15", signedAt: noon };
  host.apply(chain, { type: "signBatch", ...name, ...terms });
}

test("a batch of ours is written down as the chain tells it, and changes no balance", () => {
  const host = open();
  post(host, 1, 3_000);
  const command = advance(20, { batches: [batch(1, 3_000)], ...credit(7_000) });
  for (let times = 0; times < 2; times++) assert.equal(host.apply(chain, command).status, "advanced");
  host.deliverAll();
  assert.equal(balance(host).limitNanoUsd, 10_000);
  const [posted] = answer(host.rows(chain), { type: "posted", limit: 5 });
  assert.deepEqual([posted?.batch, posted?.origin, posted?.amountNanoUsd], [1, "ours", 3_000]);
  assert.deepEqual(answer(host.rows(chain), { type: "onchain", limit: 5 }), [{ id: address, creditNanoUsd: 7_000 }]);
  assert.deepEqual([answer(host.rows(chain), { type: "cursor" })?.foreignBatch, host.alerts], [null, []]);
});

test("a batch of ours is ours too where the books are a copy from the moment before it was signed", () => {
  const host = open();
  assert.equal(host.apply(account, reserve("use", 3_000)).status, "reserved");
  host.apply(account, settle("use", 3_000));
  host.deliverAll();
  const name = { batch: 1, openedAt: noon };
  host.apply(chain, { type: "openBatch", ...name, journal: "2027-06-15" });
  const built = { root: "root 1", entries: "entries 1", uses: 1, amountNanoUsd: 3_000 };
  host.apply(chain, { type: "buildBatch", ...name, ...built, firstUse: "use", lastUse: "use" });
  host.apply(chain, advance(20, { batches: [batch(1, 3_000)], ...credit(7_000) }));
  host.deliverAll();
  assert.equal(balance(host).availableNanoUsd, 7_000);
  const settled = { type: "settleBatch", ...name, at: noon, settledBy: "0xbb", block: 20 } as const;
  assert.equal(host.apply(chain, settled).status, "settled");
});

for (const [name, other] of [
  ["that was never opened here", {}],
  ["with our root and other debits", { root: "root 1", entries: "entries of somebody else" }],
  ["with other uses under our number", { root: "root of somebody else" }],
] as const) {
  test(`what a batch ${name} debited is taken from the balance, once, and open holds stay good`, () => {
    const host = open();
    if (name !== "that was never opened here") post(host, 1, 4_000);
    assert.equal(host.apply(account, reserve("held", 7_000)).status, "reserved");
    const command = advance(20, { batches: [batch(1, 4_000, other)], ...credit(6_000) });
    host.apply(chain, command);
    host.deliverAll();
    host.apply(chain, command);
    host.deliverAll();
    const { limitNanoUsd, heldNanoUsd, availableNanoUsd } = balance(host);
    assert.deepEqual([limitNanoUsd, heldNanoUsd, availableNanoUsd], [6_000, 7_000, 0]);
    assert.equal(host.apply(account, reserve("more", 1)).status, "refused");
    assert.equal(host.apply(account, settle("held", 7_000)).status, "settled");
    assert.equal(answer(host.rows(chain), { type: "cursor" })?.foreignBatch, 1);
    assert.match(host.alerts.join(), /batch 1 of 4000 is not ours/);
  });
}

const contradictions: Record<string, Partial<Advance>> = {
  "skips a number": { batches: [batch(2, 1)], ...credit(9_999) },
  "has another sum of all": { batches: [batch(1, 1, { totalDebitedNanoUsd: "2" })], ...credit(9_999) },
  "has another sum of the day": { batches: [batch(1, 1, { paidAfterNanoUsd: "2" })], ...credit(9_999) },
  "is not the sum of its debits": { batches: [batch(1, 1, { debits: [] })], ...credit(9_999) },
  "leaves another credit": { batches: [batch(1, 1)], ...credit(9_998) },
  "leaves a credit untold": { batches: [batch(1, 1)] },
};
for (const [name, events] of Object.entries(contradictions)) {
  test(`a batch that ${name} is a gap, and nothing moves`, () => {
    const host = open();
    assert.equal(host.apply(chain, advance(20, events)).status, "gap");
    assert.equal(answer(host.rows(chain), { type: "cursor" })?.block, 10);
    assert.deepEqual([host.outbox(), answer(host.rows(chain), { type: "posted", limit: 5 })], [[], []]);
  });
}

test("the sums of a day and of all days go on from one range to the next", () => {
  const host = open();
  host.apply(chain, advance(20, { batches: [batch(1, 1)], ...credit(9_999) }));
  const second = { paidAfterNanoUsd: "3", totalDebitedNanoUsd: "3" };
  assert.equal(host.apply(chain, advance(21, { batches: [batch(2, 2)], ...credit(9_997) })).status, "gap");
  assert.equal(host.apply(chain, advance(21, { batches: [batch(2, 2, second)], ...credit(9_997) })).status, "advanced");
});

test("a debit that comes before its credit waits for it", () => {
  const host = makeExample({ balance: 5 });
  const debit = { type: "debit", id: "1:batch:1", at: noon, amountNanoUsd: 6, detail: "{}" } as const;
  assert.equal(host.apply(account, debit).status, "too_much");
  host.apply(account, { type: "credit", id: "1:2", at: noon, amountNanoUsd: 1, detail: "{}" });
  assert.equal(host.apply(account, debit).status, "debited");
  assert.equal(host.apply(account, debit).status, "debited");
  assert.equal(host.apply(account, { ...debit, amountNanoUsd: 5 }).status, "conflict");
  assert.equal(balance(host).limitNanoUsd, 0);
});

test("a chain that an older version read is read again, and each credit still counts once", () => {
  const host = makeExample({ balance: 0 });
  const { batches: _, ...older } = advance(10, { activations: [activation(1, 10, 10)] });
  host.apply(chain, older);
  host.deliverAll();
  const again = advance(9, { activations: [activation(1, 10, 10)], ...credit(10_000) });
  assert.equal(host.apply(chain, again).status, "advanced");
  host.deliverAll();
  assert.equal(balance(host).limitNanoUsd, 10_000);
  assert.equal(answer(host.rows(chain), { type: "cursor" })?.lastBatchId, 0);
});

test("an older version that runs beside this one moves nothing, and this one goes on", () => {
  const host = open();
  const { batches: _, ...older } = advance(11, { activations: [activation(2, 5, 15)] });
  assert.equal(host.apply(chain, older).status, "gap");
  const command = advance(11, { activations: [activation(2, 5, 15)], ...credit(15_000) });
  assert.equal(host.apply(chain, command).status, "advanced");
  host.deliverAll();
  assert.equal(balance(host).limitNanoUsd, 15_000);
});

test("accepted batches count as settled, and the next batch follows them", () => {
  const host = open();
  post(host, 1, 4_000);
  const sums = { paidAfterNanoUsd: "4001", totalDebitedNanoUsd: "4001" };
  const batches = [batch(1, 4_000, { root: "another root" }), batch(2, 1, sums)];
  host.apply(chain, advance(20, { batches, ...credit(5_999) }));
  assert.deepEqual(host.apply(chain, { type: "acceptBatches", at: noon }), { status: "conflict", batch: 1 });
  const name = { batch: 1, openedAt: noon };
  host.apply(chain, { type: "rejectBatch", ...name, transactions: 1 });
  host.apply(chain, { type: "dropBatch", ...name });
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(host.apply(chain, { type: "acceptBatches", at: noon }), { status: "accepted", left: null });
  }
  assert.equal(answer(host.rows(chain), { type: "cursor" })?.foreignBatch, null);
  const settled = answer(host.rows(chain), { type: "batches", limit: 5 }).map(({ batch, state }) => [batch, state]);
  assert.deepEqual(settled, [
    [2, "settled"],
    [1, "settled"],
  ]);
  assert.equal(
    host.apply(chain, { type: "openBatch", batch: 3, openedAt: noon, journal: "2027-06-15" }).status,
    "open",
  );
});

test("what a foreign batch paid from the day's ceiling is not spent from it again", () => {
  const host = open();
  const command = advance(20, { batches: [batch(1, 9_000)], ...credit(1_000) });
  for (let times = 0; times < 2; times++) {
    host.apply(chain, command);
    host.deliverAll();
  }
  const at = (time: number) => answer(host.rows(ceilingPartition), { type: "ceiling", at: time }).availableNanoUsd;
  assert.deepEqual([at(noon), at(noon + 86_400_000)], [1_000, 10_000]);
});

test("a batch of ours is not taken from the day's ceiling, which its uses have used up", () => {
  const host = open();
  post(host, 1, 3_000);
  host.apply(chain, advance(20, { batches: [batch(1, 3_000)], ...credit(7_000) }));
  host.deliverAll();
  assert.equal(answer(host.rows(ceilingPartition), { type: "ceiling", at: noon }).availableNanoUsd, 10_000);
});
