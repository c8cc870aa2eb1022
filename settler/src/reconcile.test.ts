import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "@inference/ledger/reads";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { createReconciler, type ReconcilerOptions } from "./reconcile.ts";
import { accounts, type Jobs, makeGateway, partition, type SimulatedGateway } from "./testing/simulated-gateway.ts";

/** The reconciliation of days of the ceiling, on the simulated chain. */
const [alice = "0x", bob = "0x"] = accounts;
const HOUR = 3_600_000;
const settlement = "0x00000000000000000000000000000000005e7713";

function reconcilerOf(gateway: SimulatedGateway, options: Partial<ReconcilerOptions> = {}) {
  const { node: client, host: ledger, clock, alerts } = gateway;
  const onAlert = (message: string) => void alerts.push(message);
  return createReconciler({ client, settlement, ledger, chainId: 31337, now: () => clock.now, onAlert, ...options });
}

async function settle(gateway: SimulatedGateway, jobs: Jobs): Promise<void> {
  for (let round = 0; round < 8; round++) {
    while ((await jobs.watcher.poll()).outcome === "advanced");
    await jobs.statements.poll();
    await jobs.settler.poll();
    gateway.happen({ type: "mine", blocks: 4, takes: true });
  }
}

/** The block of a time is final, and read. */
async function reach(gateway: SimulatedGateway, { watcher }: Jobs, time: number): Promise<void> {
  gateway.clock.now = time;
  gateway.happen({ type: "mine", blocks: 9, takes: true });
  while ((await watcher.poll()).outcome === "advanced");
}

const rowsOf = ({ host }: SimulatedGateway) => answer(host.rows(partition), { type: "reconciliations", limit: 9 });

test("a day is reconciled once, when all that it paid is final: statements = debits", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  const start = gateway.clock.now - (gateway.clock.now % DAY_MS);
  await settle(gateway, jobs);
  for (const account of [alice, bob]) await gateway.use(account, 1_000_000_000);
  await settle(gateway, jobs);
  const { poll } = reconcilerOf(gateway);
  await reach(gateway, jobs, start + DAY_MS + 6 * HOUR - 13_000 - 9 * 12_000);
  await poll();
  assert.ok(rowsOf(gateway).every(({ closedAt }) => closedAt === null));
  await reach(gateway, jobs, start + DAY_MS + 6 * HOUR);
  await poll();
  const [row] = rowsOf(gateway);
  assert.deepEqual([row?.id, row?.unexplainedNanoUsd, row?.closedAt], [utcDay(start), 0, gateway.clock.now]);
  const record: Reconciliation = JSON.parse(row?.detail ?? "");
  const amounts = { statementsNanoUsd: 1_000_000_000, debitedNanoUsd: 1_000_000_000 };
  assert.deepEqual(record, { ...amounts, foreignNanoUsd: 0, chunks: 1 });
  assert.deepEqual(gateway.alerts, []);
});

test("a foreign debit is named, and is not unexplained", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  const start = gateway.clock.now - (gateway.clock.now % DAY_MS);
  await settle(gateway, jobs);
  await gateway.use(alice, 1_000_000_000);
  gateway.happen({ type: "useKey", account: 1, amount: 7 });
  await settle(gateway, jobs);
  await reach(gateway, jobs, start + DAY_MS + 6 * HOUR);
  await reconcilerOf(gateway).poll();
  const [row] = rowsOf(gateway);
  const record: Reconciliation = JSON.parse(row?.detail ?? "");
  assert.deepEqual(record, {
    ...{ statementsNanoUsd: 500_000_000, debitedNanoUsd: 500_000_007, foreignNanoUsd: 7, chunks: 2 },
    foreignOf: { [bob.toLowerCase()]: 7 },
  });
  assert.equal(row?.unexplainedNanoUsd, 0);
  assert.match(gateway.alerts.join(), /7 nano-dollars were debited for no statement/);
});

for (const sign of [1, -1])
  test(`a difference to the contract's own sum is unexplained: ${3 * sign}`, async () => {
    const gateway = makeGateway();
    const jobs = gateway.start();
    const start = gateway.clock.now - (gateway.clock.now % DAY_MS);
    await settle(gateway, jobs);
    await gateway.use(alice, 1_000_000_000);
    await settle(gateway, jobs);
    await reach(gateway, jobs, start + DAY_MS + 6 * HOUR);
    const client = {
      async request(method: string, params: readonly unknown[]) {
        const truth = await gateway.node.request(method, params);
        return method === "eth_call"
          ? `0x${(BigInt(String(truth)) + BigInt(3 * sign)).toString(16).padStart(64, "0")}`
          : truth;
      },
    };
    await reconcilerOf(gateway, { client }).poll();
    assert.equal(rowsOf(gateway)[0]?.unexplainedNanoUsd, 3);
    assert.match(gateway.alerts.join(), /3 nano-dollars are unexplained/);
  });

test("days that passed while nothing ran are reconciled one after the other", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  const start = gateway.clock.now - (gateway.clock.now % DAY_MS);
  await settle(gateway, jobs);
  await gateway.use(alice, 1_000_000_000);
  await settle(gateway, jobs);
  await reach(gateway, jobs, start + 3 * DAY_MS + 7 * HOUR);
  await reconcilerOf(gateway).poll();
  assert.deepEqual(
    rowsOf(gateway).map(({ id, unexplainedNanoUsd }) => [id, unexplainedNanoUsd]),
    [2, 1, 0].map((after) => [utcDay(start + after * DAY_MS), 0]),
  );
});

test("the provider's bill of a day is read once the day is closed, tried again each hour, and written once", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  const start = gateway.clock.now - (gateway.clock.now % DAY_MS);
  await settle(gateway, jobs);
  await gateway.use(alice, 1_000_000_000);
  await settle(gateway, jobs);
  const asked: unknown[] = [];
  const bills: Record<string, number> = {};
  const billing = {
    listedOn: async (day: string) => (day === utcDay(start) ? null : 3),
    async chargedOn(day: string, listedNanoUsd: number) {
      asked.push([day, listedNanoUsd]);
      return bills[day] ?? null;
    },
  };
  const { poll } = reconcilerOf(gateway, { billing });
  await reach(gateway, jobs, start + 3 * DAY_MS + 7 * HOUR);
  await poll();
  const [last = "", before = "", first = ""] = rowsOf(gateway).map(({ id }) => id);
  const closed = rowsOf(gateway).map(({ closedAt }) => closedAt);
  assert.ok(!closed.includes(null), "an unread bill keeps no day open");
  assert.deepEqual(asked.splice(0), [[last, 3]]);
  bills[before] = 5;
  await poll();
  await poll();
  assert.deepEqual(asked.splice(0), [[before, 3]], `${last} was tried just now, and the cost of ${first} is not known`);
  bills[last] = 4;
  gateway.clock.now += HOUR;
  await poll();
  await poll();
  assert.deepEqual(asked.splice(0), [[last, 3]]);
  const noted = rowsOf(gateway).map(({ detail }) => JSON.parse(detail) as Reconciliation);
  assert.deepEqual(
    noted.map(({ listedNanoUsd, providerNanoUsd }) => [listedNanoUsd, providerNanoUsd]),
    [
      [3, 4],
      [3, 5],
      [null, undefined],
    ],
  );
  assert.deepEqual(
    rowsOf(gateway).map(({ closedAt }) => closedAt),
    closed,
  );
  assert.deepEqual(gateway.alerts, []);
});
