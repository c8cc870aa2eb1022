import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerClient } from "@inference/ledger/client";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { type Lie, methodsOf } from "./testing/lying-node.ts";
import { FINALITY_DEPTH } from "./testing/schedule.ts";
import { accounts, type Jobs, makeGateway, partition, type SimulatedGateway } from "./testing/simulated-gateway.ts";

/** The settler with the statements and the watcher on a simulated chain. */
const [alice = "0x", bob = "0x", carol = "0x"] = accounts;
const HOUR = 3_600_000;

/** One round of the jobs. */
async function poll(jobs: Jobs): Promise<void> {
  await read(jobs);
  await jobs.statements.poll();
  await jobs.settler.poll();
}

/** Reads all final blocks. */
async function read({ watcher }: Jobs): Promise<void> {
  while ((await watcher.poll()).outcome === "advanced");
}

/** Rounds of jobs and blocks until everything is settled. */
async function settleAll(gateway: SimulatedGateway, jobs: Jobs): Promise<void> {
  for (let round = 0; round < 60; round++) {
    await poll(jobs);
    gateway.audit.look();
    if (jobs.settler.status().state === "idle" && gateway.audit.isDrained()) return;
    gateway.happen({ type: "mine", blocks: 2, takes: true });
    gateway.clock.now += HOUR / 12;
  }
  throw new Error(`it is not settled: ${JSON.stringify(jobs.settler.status(), (_, value) => String(value))}`);
}

/** The accounts' debits in the final blocks that the ledger has read. */
function debited({ host }: SimulatedGateway): number[] {
  return [alice, bob, carol].map((account) => billOf(host, account).debitedNanoUsd);
}

function billOf(host: SimulatedGateway["host"], account: typeof alice) {
  return answer(host.rows(accountPartition(account)), { type: "bill" });
}

function chunksOn({ chain }: SimulatedGateway) {
  return chain.blocks.flatMap(({ transactions }) =>
    transactions.flatMap(({ chunk, isSuccess }) => (chunk === undefined || !isSuccess ? [] : [chunk])),
  );
}

function storedIn({ host }: SimulatedGateway) {
  return answer(host.rows(partition), { type: "transactions", limit: 100 });
}

test("uses become statements, statements chunks, and chunks final debits", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  await poll(jobs);
  await gateway.use(alice, 400_000_000);
  await gateway.use(alice, 800_000_000);
  await gateway.use(bob, 20);
  // Alice owes enough to be posted at once, Bob when the interval is over.
  await poll(jobs);
  assert.equal(jobs.settler.status().state, "posting");
  assert.deepEqual(chunksOn(gateway), []);
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  assert.deepEqual(
    chunksOn(gateway).map(({ records }) => records.map(({ account, amountNanoUsd }) => [account, amountNanoUsd])),
    [[[alice, 600_000_000]]],
  );
  assert.deepEqual(debited(gateway), [0, 0, 0]);
  await settleAll(gateway, jobs);
  assert.deepEqual(debited(gateway), [600_000_000, 10, 0]);
  gateway.audit.close({ isLossy: false });
});

test("many uses of one account do not delay the use of another: it is final in the next chunk", async () => {
  const gateway = makeGateway();
  const keccak = await makeKeccak();
  const many = process.env.DEEP === "1" ? 1_000_000 : 50_000;
  let pages = 0;
  /** Uses of a nano-dollar in place of Alice's one. */
  const ledger = (real: LedgerClient): LedgerClient => ({
    ...real,
    async read(where, query) {
      const found = await real.read(where, query);
      if (query.type !== "uses" || where !== accountPartition(alice)) return found;
      pages += 1;
      const [use] = answer(gateway.host.rows(where), { type: "uses", afterNanoUsd: 0, limit: 1 });
      const length = Math.min(query.limit, many - query.afterNanoUsd);
      return Array.from({ length }, (_, index) => {
        const endsAtNanoUsd = query.afterNanoUsd + index + 1;
        return { ...use, id: String(endsAtNanoUsd).padStart(16, "0"), costNanoUsd: 1, endsAtNanoUsd };
      }) as never;
    },
  });
  const jobs = gateway.start({ ledger }, { keccak });
  await poll(jobs);
  await gateway.use(alice, 2 * many);
  await gateway.use(bob, 2);
  gateway.clock.now += HOUR;
  await poll(jobs);
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  assert.deepEqual(
    chunksOn(gateway).map(({ records }) => records.map(({ amountNanoUsd }) => amountNanoUsd)),
    [[many, 1]],
  );
  gateway.happen({ type: "mine", blocks: FINALITY_DEPTH, takes: true });
  await read(jobs);
  assert.deepEqual(debited(gateway), [many, 1, 0]);
  assert.ok(pages >= many / 500);
  assert.deepEqual(gateway.alerts, []);
});

test("a ceiling of zero for an hour loses nothing: every use is final after it is raised", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  await poll(jobs);
  for (const account of [alice, bob]) await gateway.use(account, 1_000_000_000);
  gateway.happen({ type: "ceiling", cents: 0 });
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  for (let round = 0; round < 12; round++) {
    await poll(jobs);
    gateway.happen({ type: "mine", blocks: 1, takes: true });
    gateway.clock.now += HOUR / 12;
  }
  const { state, reason = "", waiting } = jobs.settler.status();
  assert.equal(state, "waiting");
  assert.match(reason, /nothing is left under the day's ceiling/);
  assert.deepEqual([waiting.accounts, waiting.amountNanoUsd], [2, 1_000_000_000]);
  assert.deepEqual(chunksOn(gateway), []);
  assert.deepEqual(storedIn(gateway), []);
  gateway.clock.now += HOUR;
  await poll(jobs);
  assert.match(gateway.alerts.join(), /statements wait since 2024-.*nothing is left under the day's ceiling/);
  gateway.happen({ type: "ceiling", cents: 5_000 });
  await settleAll(gateway, jobs);
  gateway.audit.close({ isLossy: false });
});

const lies: Record<string, Lie> = {
  "the ceiling is zero": methodsOf({ ceilingOn: () => 0n }),
  "the day's ceiling is paid out": methodsOf({ paidNanoUsd: () => 10n ** 18n }),
  "the day has room without end": methodsOf({ ceilingOn: () => 10n ** 20n, paidNanoUsd: () => 0n }),
  "the settlement refuses the settler": methodsOf({ estimate: "OnlySettler" }),
  "the ceiling is reached": methodsOf({ estimate: "CeilingReached" }),
  "a chunk takes no gas": methodsOf({ estimate: 21_000n }),
  "every nonce is used": methodsOf({ nonce: (truth) => truth + 5n }),
  "no nonce is used": methodsOf({ nonce: () => 0n }),
};

for (const [name, lie] of Object.entries(lies)) {
  test(`a node that says for a minute that ${name} loses nothing`, async () => {
    const gateway = makeGateway();
    const honest = gateway.start();
    await poll(honest);
    for (const account of [alice, bob, carol]) await gateway.use(account, 1_000_000_000);
    await settleAll(gateway, honest);
    for (const account of [alice, bob, carol]) await gateway.use(account, 1_000_000_000);
    const lied = gateway.start({ client: lie });
    for (let second = 0; second < 60; second += 12) {
      await poll(lied);
      gateway.audit.look();
      gateway.happen({ type: "mine", blocks: 1, takes: true });
    }
    await settleAll(gateway, gateway.start());
    gateway.audit.close({ isLossy: false });
    assert.equal(gateway.chain.blocks.at(-1)?.state.totalDebitedNanoUsd, 3_000_000_000n);
  });
}

test("two settlers with one key and ledger post each statement once", async () => {
  const gateway = makeGateway();
  const [one, other] = [gateway.start(), gateway.start()];
  await poll(one);
  for (let round = 0; round < 5; round++) {
    for (const account of accounts) await gateway.use(account, 1_000_000_000);
    await poll(one);
    await Promise.all([other.settler.poll(), one.settler.poll()]);
    gateway.audit.look();
    gateway.happen({ type: "mine", blocks: 3, takes: true });
  }
  await settleAll(gateway, other);
  gateway.audit.close({ isLossy: false });
});

test("a foreign posting is taken over: the account pays for nothing twice, and the alert has the amount", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  await poll(jobs);
  await gateway.use(alice, 1_000_000_000);
  await gateway.use(bob, 1_000_000_000);
  gateway.happen({ type: "useKey", account: 0, amount: 300_000_000 });
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  await settleAll(gateway, jobs);
  gateway.audit.close({ isLossy: true });
  // Alice used 500,000,000. The foreign debit paid 300,000,000 of it.
  assert.deepEqual(debited(gateway), [500_000_000, 500_000_000, 0]);
  assert.equal(billOf(gateway.host, alice).takenOverNanoUsd, 300_000_000);
  assert.match(gateway.host.alerts.join(), /account:0x1+: takes over debits of 300000000/);
});

test("a foreign posting that a reorganization drops is not taken over", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  await poll(jobs);
  await gateway.use(alice, 1_000_000_000);
  gateway.happen({ type: "useKey", account: 0, amount: 300_000_000 });
  gateway.happen({ type: "mine", blocks: FINALITY_DEPTH, takes: true });
  await poll(jobs);
  gateway.happen({ type: "reorg", depth: FINALITY_DEPTH, returns: true });
  await settleAll(gateway, jobs);
  gateway.audit.close({ isLossy: false });
  assert.deepEqual(debited(gateway), [500_000_000, 0, 0]);
  assert.equal(billOf(gateway.host, alice).takenOverNanoUsd, 0);
});

test("a window of transactions is in flight, each stored before it is sent, and no more than it holds", async () => {
  const gateway = makeGateway({ limits: { window: 2, maxGas: 140_000 } });
  const jobs = gateway.start();
  await poll(jobs);
  for (const account of [alice, bob, carol]) await gateway.use(account, 1_000_000_000);
  await poll(jobs);
  assert.deepEqual([...gateway.chain.pending.keys()], [0, 1]);
  assert.equal(jobs.settler.status().inFlight, 2);
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  // They are in a block and not final: the third waits.
  await poll(jobs);
  assert.equal(gateway.chain.pending.size, 0);
  gateway.happen({ type: "mine", blocks: FINALITY_DEPTH, takes: true });
  await poll(jobs);
  assert.deepEqual([...gateway.chain.pending.keys()], [2]);
  await settleAll(gateway, jobs);
  gateway.audit.close({ isLossy: false });
});

test("a nonce that is missing below others is filled first, with a transfer if no statement is due", async () => {
  const gateway = makeGateway({ limits: { window: 3, maxGas: 140_000 } });
  const jobs = gateway.start();
  await poll(jobs);
  for (const account of [alice, bob]) await gateway.use(account, 1_000_000_000);
  await poll(jobs);
  const [lowest] = storedIn(gateway);
  assert.equal(lowest?.nonce, 0);
  gateway.chain.drop();
  gateway.host.apply(partition, { type: "dropTransaction", nonce: 0 });
  await jobs.settler.poll();
  const nonces = [...gateway.chain.pending.values()].map(({ nonce, chunk }) => [nonce, chunk?.records.length ?? 0]);
  assert.deepEqual(nonces.sort(), [
    [0, 1],
    [1, 1],
  ]);
  // Nothing is due that is not in the second transaction.
  const [, second] = storedIn(gateway);
  gateway.host.apply(partition, { type: "dropTransaction", nonce: 0 });
  gateway.host.apply(partition, {
    type: "signChunk",
    ...(second ?? assert.fail()),
    nonce: 1,
    records: namesOfBoth(gateway),
  });
  gateway.chain.drop();
  await jobs.settler.poll();
  const transfer = gateway.chain.pending.get(0);
  assert.deepEqual([transfer?.chunk, transfer?.gas], [undefined, 21_000n]);
  await settleAll(gateway, jobs);
  gateway.audit.close({ isLossy: false });
});

function namesOfBoth({ host }: SimulatedGateway): string {
  const due = answer(host.rows(partition), { type: "dueStatements", limit: 9 });
  return JSON.stringify(due.map(({ account, beforeNanoUsd }) => ({ account, beforeNanoUsd })));
}

test("a transaction in no block for two minutes is replaced with a higher fee, up to four times the chain's", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  await poll(jobs);
  await gateway.use(alice, 1_000_000_000);
  await poll(jobs);
  const first = gateway.chain.pending.get(0);
  gateway.clock.now += 119_000;
  await jobs.settler.poll();
  assert.equal(gateway.chain.pending.get(0)?.hash, first?.hash);
  gateway.clock.now += 1_000;
  await jobs.settler.poll();
  const second = gateway.chain.pending.get(0) ?? assert.fail();
  assert.notEqual(second.hash, first?.hash);
  assert.equal(second.maxFee, ((first?.maxFee ?? 0n) * 5n) / 4n + 1n);
  assert.match(gateway.alerts.join(), /is in no block, and is replaced/);
  for (let count = 0; count < 20; count++) {
    gateway.clock.now += 121_000;
    await jobs.settler.poll();
  }
  const last = gateway.chain.pending.get(0) ?? assert.fail();
  assert.ok(last.maxFee <= 4n * (first?.maxFee ?? 0n));
  assert.match(jobs.settler.status().reason ?? "", /more gas than it offers is not paid/);
  await settleAll(gateway, jobs);
  gateway.audit.close({ isLossy: false });
});

test("transactions that the node has lost are sent again, and no others", async () => {
  const gateway = makeGateway();
  const sent: string[] = [];
  const jobs = gateway.start({
    client: (node) => ({
      request(method, params) {
        if (method === "eth_sendRawTransaction") sent.push(String(params[0]));
        return node.request(method, params);
      },
    }),
  });
  await poll(jobs);
  await gateway.use(alice, 1_000_000_000);
  await poll(jobs);
  await jobs.settler.poll();
  assert.equal(sent.length, 1);
  gateway.chain.drop();
  await jobs.settler.poll();
  assert.equal(gateway.chain.pending.size, 1);
  assert.deepEqual(sent, [sent[0], sent[0]]);
});

test("yesterday's ceiling pays until 05:45 UTC while it has room, then today's", async () => {
  for (const [timeOfDay, dayAfter] of [
    [5.75 * HOUR - 120_000, -1],
    [5.75 * HOUR, 0],
  ] as const) {
    const gateway = makeGateway({ timeOfDay: timeOfDay - (FINALITY_DEPTH + 1) * 12_000 });
    const jobs = gateway.start();
    await poll(jobs);
    await gateway.use(alice, 1_000_000_000);
    await poll(jobs);
    const [row] = storedIn(gateway);
    assert.equal(row?.day, utcDay(gateway.clock.now + dayAfter * DAY_MS));
  }
});

test("statements that yesterday's ceiling has no room for are paid from today's, the rest of a clipped one too", async () => {
  const gateway = makeGateway({ timeOfDay: 2 * HOUR });
  const jobs = gateway.start();
  gateway.happen({ type: "ceiling", cents: 30 });
  await poll(jobs);
  await gateway.use(alice, 1_000_000_000);
  await settleAllAtZero(gateway, jobs);
  const paid = gateway.chain.blocks.at(-1)?.state.paidNanoUsd ?? new Map();
  const today = BigInt(Math.floor(gateway.clock.now / DAY_MS));
  assert.deepEqual([paid.get(today - 1n), paid.get(today)], [300_000_000n, 200_000_000n]);
  gateway.audit.close({ isLossy: false });
});

async function settleAllAtZero(gateway: SimulatedGateway, jobs: Jobs): Promise<void> {
  await poll(jobs);
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  await settleAll(gateway, jobs);
}

test("a statement above its account's final credit is paid in part, and the rest waits for credit", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start();
  await poll(jobs);
  // The operator lets a dollar count that is not final, and a reorganization drops it.
  const dropped = { id: 5, account: alice, amountToken: "0", totalActivated: "0", block: 10, transaction: "0x" };
  const activations = [{ ...dropped, accountActivatedNanoUsd: 11_000_000_000 }];
  gateway.host.apply(partition, { type: "creditEarly", at: gateway.clock.now, activations });
  gateway.host.deliverAll();
  for (const amount of [9, 6, 3, 2, 1]) await gateway.use(alice, amount * 1_000_000_000);
  await gateway.use(bob, 1_000_000_000);
  for (let round = 0; round < 12; round++) {
    await poll(jobs);
    gateway.happen({ type: "mine", blocks: 3, takes: true });
  }
  assert.deepEqual(debited(gateway), [10_000_000_000, 500_000_000, 0]);
  const { state, reason = "" } = jobs.settler.status();
  assert.equal(state, "waiting");
  assert.match(reason, /the credit of their accounts is spent/);
  assert.equal(chunksOn(gateway).length, 1);
  gateway.happen({ type: "activate", account: 0, amount: 1 });
  await settleAll(gateway, jobs);
  assert.deepEqual(debited(gateway), [10_500_000_000, 500_000_000, 0]);
  gateway.audit.close({ isLossy: false });
});

test("a stuck transaction that the contract would refuse now is replaced by a transfer", async () => {
  const gateway = makeGateway();
  const jobs = gateway.start({ client: methodsOf({ estimate: "OnlySettler" }) });
  const honest = gateway.start();
  await poll(honest);
  await gateway.use(alice, 1_000_000_000);
  await poll(honest);
  assert.equal(gateway.chain.pending.get(0)?.chunk?.records.length, 1);
  gateway.clock.now += 120_000;
  await jobs.settler.poll();
  assert.equal(gateway.chain.pending.get(0)?.chunk, undefined);
  await settleAll(gateway, honest);
  gateway.audit.close({ isLossy: false });
});

test("the carry of a day is fixed once, when the block of 06:00 is final: open statements heard before 01:00", async () => {
  const gateway = makeGateway({ timeOfDay: 0.5 * HOUR });
  const jobs = gateway.start();
  await poll(jobs);
  gateway.happen({ type: "ceiling", cents: 0 });
  await gateway.use(alice, 1_000_000_000);
  await gateway.use(bob, 1_000_000_000);
  await poll(jobs);
  gateway.clock.now += HOUR;
  gateway.happen({ type: "mine", blocks: 1, takes: true });
  await gateway.use(carol, 1_000_000_000);
  await poll(jobs);
  const carry = () => answer(gateway.host.rows(ceilingPartition), { type: "ceiling", at: gateway.clock.now });
  const day = gateway.clock.now - (gateway.clock.now % DAY_MS);
  gateway.happen({ type: "ceiling", cents: 5_000 });
  gateway.happen({ type: "mine", blocks: FINALITY_DEPTH, takes: false });
  gateway.clock.now = day + 6 * HOUR - 13_000;
  gateway.happen({ type: "mine", blocks: FINALITY_DEPTH + 1, takes: false });
  await poll(jobs);
  const before = carry().availableNanoUsd ?? 0;
  gateway.happen({ type: "mine", blocks: 2, takes: false });
  await poll(jobs);
  assert.equal(before - (carry().availableNanoUsd ?? 0), 1_000_000_000);
  await gateway.start().settler.poll();
  assert.equal(before - (carry().availableNanoUsd ?? 0), 1_000_000_000);
});
