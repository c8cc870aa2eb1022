import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition, chainPartition, journalPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import { account, makeExample, noon, reserve, reserveCeiling, settle } from "@inference/ledger/testing/example";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { createReconciler } from "./reconcile.ts";

/** Days of a real ledger, whose batches the chain tells in the words of the watcher. */
const HOUR = 3_600_000;
const [day, journal, chain] = ["2027-06-15", journalPartition("2027-06-15"), chainPartition(1)];
const address = account.slice("account:".length);
const midnight = Date.parse(day) + 24 * HOUR;

function open({ chargedNanoUsd = 600, receiptsKeptMs = 48 * HOUR } = {}) {
  const host = makeExample({ balance: 100_000, ceiling: 1_000_000 });
  const alerts: string[] = [];
  const charged = { nanoUsd: chargedNanoUsd };
  let aheadMs = 0;
  const reconciler = createReconciler({
    ...{ ledger: host, chainId: 1, now: () => host.clock.now + aheadMs, onAlert: (message) => alerts.push(message) },
    ...{ receiptsKeptMs, accountsOn: async (of) => (of === day ? charged.nanoUsd : 0) },
  });
  return {
    host,
    alerts,
    charged,
    /** One poll by a clock that is not the ledger's. */
    async pollAhead(ms: number) {
      aheadMs = ms;
      await reconciler.poll();
      aheadMs = 0;
    },
    /** A request of this day, settled. */
    use(id: string, chargeNanoUsd: number) {
      host.apply(account, reserve(id, 10_000));
      host.apply(account, settle(id, chargeNanoUsd));
      host.deliverAll();
    },
    async at(time: number) {
      host.clock.now = time;
      await reconciler.poll();
      const row = answer(host.rows(chain), { type: "reconciliation", day });
      if (row === null) return null;
      return { ...row, ...(JSON.parse(row.detail) as Reconciliation) };
    },
  };
}

/** The uses that wait are posted in a batch, which the chain debits as it says. */
function post({ host }: ReturnType<typeof open>, { debited, paidFrom = day }: { debited?: number; paidFrom?: string }) {
  const name = { batch: 1, openedAt: noon };
  host.apply(chain, { type: "openBatch", ...name, journal: day });
  const gathered = host.apply(journal, { type: "gatherUses", ...name, maxUses: 100, maxEntries: 100, maxServes: 100 });
  const uses = gathered.status === "gathered" ? gathered.uses : [];
  const amountNanoUsd = uses.reduce((sum, { chargeNanoUsd }) => sum + chargeNanoUsd, 0);
  const range = { firstUse: uses[0]?.id ?? "", lastUse: uses.at(-1)?.id ?? "" };
  host.apply(chain, { type: "buildBatch", ...name, root: "root", uses: uses.length, amountNanoUsd, ...range });
  const transaction = { hash: "0xbb", raw: "0x", nonce: 0, maxFeePerGasWei: "1", day: paidFrom, signedAt: noon };
  host.apply(chain, { type: "signBatch", ...name, ...transaction });
  host.apply(chain, { type: "settleBatch", ...name, at: noon, settledBy: "0xbb", block: 20 });
  if (debited === undefined) return;
  const activation = { id: 1, account: address, amountToken: "1", totalActivated: "1", block: 9, transaction: "0xaa" };
  const amounts = { amountNanoUsd: `${debited}`, paidAfterNanoUsd: `${debited}`, totalDebitedNanoUsd: `${debited}` };
  const debits = [{ account: address, amountNanoUsd: `${debited}` }];
  const batch = { id: 1, day: paidFrom, root: "root", entries: "", block: 20, transaction: "0xbb", debits, ...amounts };
  const reply = host.apply(chain, {
    ...{ type: "advance", at: noon, chainId: 1, block: 20, blockHash: "hash", activations: [activation] },
    ...{ batches: [batch], credits: [{ account: address, creditNanoUsd: `${1_000 - debited}` }] },
  });
  assert.equal(reply.status, "advanced");
}

test("a day whose uses are all final is closed an hour after its end, and all sums agree", async () => {
  const world = open();
  for (const [index, charge] of [100, 500, 0].entries()) world.use(`req_${index}`, charge);
  post(world, { debited: 600 });
  assert.equal(await world.at(midnight + HOUR - 1), null);
  const record = await world.at(midnight + HOUR);
  const { accountsNanoUsd, journalNanoUsd, batchesNanoUsd, debitedNanoUsd } = record ?? {};
  assert.deepEqual([accountsNanoUsd, journalNanoUsd, batchesNanoUsd, debitedNanoUsd], [600, 600, 600, 600]);
  assert.deepEqual([record?.uses, record?.freeUses, record?.unexplainedNanoUsd], [3, 1, 0]);
  assert.equal(record?.closedAt, midnight + HOUR);
  assert.deepEqual(world.alerts, []);
});

test("a day's journals of all shards are added up", async () => {
  const world = open();
  world.use("req_1", 100);
  for (const shard of [1, 2]) {
    const use = { id: `req_${shard + 1}`, account: address, chargeNanoUsd: 250, admittedAt: noon, server: "protocol" };
    world.host.apply(journalPartition(`${day}:${shard}`), { type: "journal", ...use });
  }
  world.host.deliverAll();
  const record = await world.at(midnight + 6 * HOUR);
  assert.deepEqual([record?.uses, record?.journalNanoUsd, record?.waitingNanoUsd], [3, 600, 600]);
  assert.equal(record?.unexplainedNanoUsd, 0);
});

test("what waits at 06:00 is named, and the day is closed when it is final", async () => {
  const world = open();
  world.use("req_1", 600);
  assert.equal(await world.at(midnight + 6 * HOUR - 1), null);
  const waiting = await world.at(midnight + 6 * HOUR);
  assert.deepEqual([waiting?.waitingNanoUsd, waiting?.unexplainedNanoUsd, waiting?.closedAt], [600, 0, null]);
  post(world, { paidFrom: "2027-06-16" });
  const posted = await world.at(midnight + 7 * HOUR);
  assert.deepEqual([posted?.waitingNanoUsd, posted?.onTheirWayNanoUsd, posted?.closedAt], [0, 600, null]);
});

test("what is paid from a later day's ceiling is carried", async () => {
  const world = open();
  world.use("req_1", 600);
  post(world, { debited: 600, paidFrom: "2027-06-16" });
  const record = await world.at(midnight + 7 * HOUR);
  assert.deepEqual([record?.carriedNanoUsd, record?.debitedNanoUsd, record?.unexplainedNanoUsd], [600, 600, 0]);
});

test("uses that are set aside are named", async () => {
  const world = open();
  world.use("req_1", 600);
  world.host.apply(journal, { type: "setAsideUses", until: midnight, limit: 10 });
  const record = await world.at(midnight + HOUR);
  assert.deepEqual([record?.setAsideNanoUsd, record?.unexplainedNanoUsd], [600, 0]);
  assert.notEqual(record?.closedAt, null);
});

for (const [name, options, debited] of [
  ["accounts were charged more than their journal has", { chargedNanoUsd: 601 }, 600],
  ["the chain debited less than the batch's uses", {}, 599],
] as const) {
  test(`where ${name}, the difference is unexplained, to the nano-dollar, and the operator is told`, async () => {
    const world = open(options);
    world.use("req_1", 600);
    post(world, { debited });
    const record = await world.at(midnight + HOUR);
    assert.ok((record?.unexplainedNanoUsd ?? 0) > 0);
    assert.match(world.alerts.join(), /2027-06-15: \d+ nano-dollars are not explained/);
  });
}

test("every day has its record, also after days without a process", async () => {
  const world = open({ chargedNanoUsd: 0 });
  await world.at(midnight + HOUR);
  await world.at(midnight + 72 * HOUR + HOUR);
  const days = answer(world.host.rows(chain), { type: "reconciliations", limit: 10 }).map(({ id }) => id);
  assert.deepEqual(days, ["2027-06-18", "2027-06-17", "2027-06-16", "2027-06-15"]);
});

test("a day is not closed while a request of it has not ended, and what it costs is in the record", async () => {
  // The gateway was down over midnight. The sweeper ends the hold some time after the start.
  const world = open({ chargedNanoUsd: 0 });
  world.host.apply(ceilingPartition, reserveCeiling("req_1", 10_000));
  world.host.apply(account, reserve("req_1", 10_000));
  assert.equal(await world.at(midnight + 2 * HOUR), null);
  const open6 = await world.at(midnight + 6 * HOUR);
  assert.deepEqual([open6?.closedAt, open6?.journalNanoUsd], [null, 0]);
  world.host.apply(account, settle("req_1", 600));
  world.host.deliverAll();
  world.charged.nanoUsd = 600;
  const record = await world.at(midnight + 7 * HOUR);
  assert.deepEqual([record?.journalNanoUsd, record?.waitingNanoUsd, record?.accountsNanoUsd], [600, 600, 600]);
});

test("a reconciler whose clock was ahead for one poll closes no day that is not over", async () => {
  const world = open();
  await world.pollAhead(4 * 24 * HOUR);
  world.use("req_1", 600);
  const record = await world.at(midnight + 6 * HOUR);
  assert.equal(record?.journalNanoUsd, 600);
  const days = answer(world.host.rows(chain), { type: "reconciliations", limit: 10 }).map(({ id }) => id);
  assert.equal(days[0], day);
});

test("what a foreign batch paid from a day is unexplained, and the day open, until the batch is accepted", async () => {
  const world = open({ chargedNanoUsd: 0 });
  const amounts = { amountNanoUsd: "900", paidAfterNanoUsd: "900", totalDebitedNanoUsd: "900" };
  const batch = {
    ...{ id: 1, day, root: "of a thief", entries: "e", block: 20, transaction: "0xbb", ...amounts },
    debits: [{ account: address, amountNanoUsd: "900" }],
  };
  const activation = { id: 1, account: address, amountToken: "1", totalActivated: "1", block: 9, transaction: "0xaa" };
  const reply = world.host.apply(chain, {
    ...{ type: "advance", at: noon, chainId: 1, block: 20, blockHash: "hash", activations: [activation] },
    ...{ batches: [batch], credits: [{ account: address, creditNanoUsd: "100" }] },
  });
  assert.equal(reply.status, "advanced");
  for (const hours of [1, 2]) {
    const record = await world.at(midnight + hours * HOUR);
    assert.deepEqual([record?.foreignNanoUsd, record?.unexplainedNanoUsd, record?.closedAt], [900, 900, null]);
    assert.equal(world.alerts.length, hours, "it is told as long as it is open");
  }
  world.host.apply(chain, { type: "acceptBatches", at: midnight });
  const accepted = await world.at(midnight + 3 * HOUR);
  assert.deepEqual([accepted?.foreignNanoUsd, accepted?.unexplainedNanoUsd], [900, 0]);
  assert.notEqual(accepted?.closedAt, null);
});

test("a day whose accounts cannot be added up any more stays open, and the operator is told", async () => {
  const world = open({ chargedNanoUsd: 700 });
  world.use("req_1", 600);
  world.host.apply(journal, { type: "setAsideUses", until: midnight, limit: 10 });
  const record = await world.at(midnight + 41 * HOUR);
  assert.deepEqual([record?.accountsNanoUsd, record?.closedAt], [null, null]);
  assert.match(world.alerts.join(), /2027-06-15: receipts are gone/);
});

test("accounts are added up after days without a process where receipts are kept longer", async () => {
  const world = open({ chargedNanoUsd: 700, receiptsKeptMs: 400 * 24 * HOUR });
  world.use("req_1", 600);
  world.host.apply(journal, { type: "setAsideUses", until: midnight, limit: 10 });
  const record = await world.at(midnight + 41 * HOUR);
  assert.deepEqual([record?.accountsNanoUsd, record?.unexplainedNanoUsd], [700, 100]);
});

test("the first run goes back a week, to the days that have uses", async () => {
  const world = open({ receiptsKeptMs: 400 * 24 * HOUR });
  world.use("req_1", 600);
  const record = await world.at(midnight + 73 * HOUR);
  assert.deepEqual([record?.journalNanoUsd, record?.accountsNanoUsd], [600, 600]);
  const days = answer(world.host.rows(chain), { type: "reconciliations", limit: 10 }).map(({ id }) => id);
  assert.deepEqual(days, ["2027-06-18", day]);
});
