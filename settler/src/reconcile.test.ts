import assert from "node:assert/strict";
import { test } from "node:test";
import { chainPartition, journalPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import { account, makeExample, noon, reserve, settle } from "@inference/ledger/testing/example";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { createReconciler } from "./reconcile.ts";

/** Days of a real ledger, whose batches the chain tells in the words of the watcher. */
const HOUR = 3_600_000;
const [day, journal, chain] = ["2027-06-15", journalPartition("2027-06-15"), chainPartition(1)];
const address = account.slice("account:".length);
const midnight = Date.parse(day) + 24 * HOUR;

function open({ chargedNanoUsd = 600 } = {}) {
  const host = makeExample({ balance: 100_000, ceiling: 1_000_000 });
  const alerts: string[] = [];
  const reconciler = createReconciler({
    ...{ ledger: host, chainId: 1, now: () => host.clock.now, onAlert: (message) => alerts.push(message) },
    accountsOn: async (of) => (of === day ? chargedNanoUsd : 0),
  });
  return {
    host,
    alerts,
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
