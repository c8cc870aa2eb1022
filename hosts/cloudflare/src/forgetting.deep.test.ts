import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Commands } from "@inference/ledger/commands";
import {
  accountPartition,
  ceilingPartition,
  chainPartition,
  identityPartition,
  type Partition,
} from "@inference/ledger/partition";
import { createKey, hear } from "@inference/ledger/testing/example";
import {
  type ClockedHost,
  type ClockedObjects,
  fund,
  type Storage,
  type StoredRows,
  startClockedObjects,
} from "./testing/clocked-objects.ts";
import { hold } from "./testing/hold.ts";

/** Objects wake for what is over, and for nothing else: each alarm of an idle one costs, and there are many. */
const START = Date.UTC(2040, 1, 28, 12);
const HOUR_MS = 3_600_000;
const LEASE_MS = 900_000;
const account = accountPartition("0x00000000000000000000000000000000000000f0");
/** Whom nobody has credited. */
const stranger = accountPartition("0x00000000000000000000000000000000000000f1");
const wallet = identityPartition("0x00000000000000000000000000000000000000f1");
const chain = chainPartition(31_337);
const partitions = [account, ceilingPartition, stranger, wallet];

let objects: ClockedObjects;
before(async () => {
  objects = await startClockedObjects();
});
after(() => objects?.stop());

type Clock = { time: number; now(): number };

async function open(): Promise<{ host: ClockedHost; clock: Clock }> {
  const clock: Clock = { time: START, now: () => clock.time };
  const host = await objects.open(clock);
  await host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000 });
  await fund(host, account, START);
  return { host, clock };
}

async function pay(host: ClockedHost, id: string, at: number): Promise<void> {
  const terms = { id, digest: "digest", at, amountNanoUsd: 10, leaseMs: LEASE_MS };
  assert.equal(await hold(async (partition, command) => host.apply(partition, command), account, terms), "reserved");
  const end = { type: "settle", id, at, chargeNanoUsd: 5, lossNanoUsd: 0, detail: "{}", snapshot: "00" } as const;
  await host.apply(account, end);
}

/** Rings each alarm when it is due, until none is set or so late; answers when, in whole hours since the start. */
async function ringAll(host: ClockedHost, clock: Clock, until = Number.POSITIVE_INFINITY) {
  const rung = new Map<Partition, number[]>(partitions.map((partition) => [partition, []]));
  for (;;) {
    const [due] = (await host.call<number | null>("alarmAt", partitions))
      .flatMap((at, index) => (at === null || at > until ? [] : [{ at, partition: partitions[index] ?? account }]))
      .sort((one, other) => one.at - other.at);
    if (due === undefined) return rung;
    clock.time = Math.max(clock.time, due.at);
    rung.get(due.partition)?.push(Math.floor((clock.time - START) / HOUR_MS));
    assert.ok((rung.get(due.partition)?.length ?? 0) < 100, "alarms go on and on");
    await host.call("ring", [due.partition]);
  }
}

async function rowsOf(host: ClockedHost, partition: Partition): Promise<StoredRows> {
  const [rows = assert.fail()] = await host.call<StoredRows>("rows", [partition]);
  return rows;
}

test("an account that was used once wakes to tidy up, for its key's nonce, its statement and its receipts, and then never again", async () => {
  const { host, clock } = await open();
  await pay(host, "req_1", START);
  const dust = START + 30 * 24 * HOUR_MS;
  const rung = await ringAll(host, clock, dust + 90_000);
  // Its deliveries are made by its first alarm here, and by nobody's otherwise.
  assert.deepEqual(rung.get(account), [0, 48 + 24, 30 * 24, 30 * 24]);
  const [told = assert.fail("its statement was not told")] = (await rowsOf(host, chain)).told;
  const { afterNanoUsd: debitedNanoUsd, root: lastRoot } = told;
  await host.apply(account, hear(100_000, { at: clock.time, epoch: null, debitedNanoUsd, lastRoot }));
  assert.deepEqual((await ringAll(host, clock)).get(account)?.at(-1), (400 + 1) * 24);
  assert.equal((await storageOf(host, account)).bytes, 4 * 4_096, "a page of each: schema, log, segments, alarm");
  const { receipt, use, nonce, total } = await rowsOf(host, account);
  assert.deepEqual([receipt.length, use.length, nonce.length, total.length], [0, 0, 0, 1]);
});

async function storageOf(host: ClockedHost, partition: Partition): Promise<Storage> {
  const [storage = assert.fail()] = await host.call<Storage>("storage", [partition]);
  return storage;
}

test("an account that was used a lot and is idle for days keeps a log of one row, or none", async () => {
  const { host, clock } = await open();
  for (let n = 0; n < 30; n += 1) await pay(host, `req_${n}`, START);
  const busy = await storageOf(host, account);
  assert.equal(busy.rows.log, 3);
  await ringAll(host, clock, START + 4 * 24 * HOUR_MS);
  const idle = await storageOf(host, account);
  assert.ok((idle.rows.log ?? 0) <= 1 && idle.bytes <= busy.bytes, JSON.stringify(idle));
  await pay(host, "req_again", clock.time);
  assert.equal((await rowsOf(host, account)).receipt.length, 31);
});

test("ended rows that have to stay are checked once a day, also in an object that was evicted", async () => {
  const { host, clock } = await open();
  const terms = { id: "req_open", digest: "digest", at: START, amountNanoUsd: 10, leaseMs: 30 * 24 * HOUR_MS };
  assert.equal(await hold(async (partition, command) => host.apply(partition, command), account, terms), "reserved");
  await ringAll(host, clock, START + 5 * 24 * HOUR_MS);
  await host.call("evict", [account]);
  const rung = await ringAll(host, clock, START + 8 * 24 * HOUR_MS);
  assert.ok((rung.get(account)?.length ?? 0) <= 4, `${rung.get(account)}`);
  assert.equal((await rowsOf(host, account)).receipt.length, 1);
});

function key(keyId: string, expiresAt: number | null = null): Commands["createKey"]["command"] {
  return createKey(keyId, { at: START, nonceExpiresAt: START, window: "day", expiresAt });
}

test("an account that is never credited wakes twice, and then is empty", async () => {
  const { host, clock } = await open();
  for (const id of ["key1", "key2"]) await host.apply(stranger, key(id));
  const rung = await ringAll(host, clock);
  assert.deepEqual(rung.get(stranger), [48 + 24, (7 + 2 + 1) * 24]);
  assert.deepEqual(Object.values(await rowsOf(host, stranger)).flat(), []);
  assert.deepEqual((await storageOf(host, stranger)).rows, {}, "it was deleted");
  // It can begin again.
  await host.apply(stranger, { ...key("key3"), nonce: "another" } as never);
  assert.equal((await rowsOf(host, stranger)).key.length, 1);
});

test("a key that was there before the first credit is looked at once, and one that expires in an age not before", async () => {
  const { host, clock } = await open();
  const end = Date.UTC(9999, 11, 31);
  await host.apply(stranger, key("key1"));
  await host.apply(stranger, key("key2", end));
  await host.apply(stranger, hear(1, { at: START }));
  const soon = START + 1_000 * 24 * HOUR_MS;
  assert.deepEqual((await ringAll(host, clock, soon)).get(stranger), [48 + 24, (7 + 2 + 1) * 24]);
  assert.deepEqual(
    (await rowsOf(host, stranger)).key.map(({ id, unpaidUntil }) => [id, unpaidUntil]),
    [
      ["key1", null],
      ["key2", null],
    ],
  );
  // No alarm can be set for an age from now: it rings in ten years, finds nothing to do, and is set anew.
  const years = 365 * 24;
  const late = await ringAll(host, clock, START + 25 * years * HOUR_MS);
  assert.deepEqual(late.get(stranger), [10 * years + 240, 20 * years + 240]);
});

test("an identity that was asked after once keeps nothing of that day's capacity", async () => {
  const { host, clock } = await open();
  await host.apply(wallet, {
    type: "openSession",
    at: START,
    digest: "session",
    address: "0x",
    agentToken: null,
    expiresAt: START + 24 * HOUR_MS,
  });
  for (const at of [START, START + 13 * HOUR_MS]) {
    await host.apply(wallet, { type: "setCapacity", at, limitNanoUsd: 0 });
  }
  assert.deepEqual((await ringAll(host, clock)).get(wallet), [48 + 24, (1 + 2 + 1) * 24]);
  assert.deepEqual(Object.values(await rowsOf(host, wallet)).flat(), []);
  assert.deepEqual((await storageOf(host, wallet)).rows, {});
});
