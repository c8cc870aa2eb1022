import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { isHold } from "@inference/ledger/tables";
import { type ClockedHost, type ClockedObjects, fund, startClockedObjects } from "./testing/clocked-objects.ts";
import { hold } from "./testing/hold.ts";

/** Holds of requests that died: a question to the account ends them, or the alarm. */
const START = Date.UTC(2040, 1, 28, 23, 59, 59);
const LEASE_MS = 15 * 60_000;
const account = accountPartition("0x00000000000000000000000000000000000000f0");
const clock = { time: START, now: () => clock.time };

let objects: ClockedObjects;
let host: ClockedHost;
before(async () => {
  objects = await startClockedObjects();
});
after(() => objects?.stop());

beforeEach(async () => {
  clock.time = START;
  host = await objects.open(clock);
  await host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000 });
  await fund(host, account, START);
});

/** A hold that was looked at first, and has the time of grace behind it. */
async function dieWaiting(): Promise<number> {
  await die("req_1", "unread");
  clock.time += LEASE_MS + 1;
  await host.call("ask", [account]);
  assert.deepEqual(await holds(), ["orphaned"]);
  clock.time += 30_001;
  return looks();
}

/** A request that died after its checkpoint, with the prices of `snapshot`. */
async function die(id: string, snapshot: string): Promise<void> {
  const detail = JSON.stringify({ route: "chat", model: "m", snapshot, stream: true });
  const terms = { id, digest: "digest", at: clock.time, amountNanoUsd: 10, leaseMs: LEASE_MS, detail };
  assert.equal(await hold(async (partition, command) => host.apply(partition, command), account, terms), "reserved");
  await host.apply(account, { type: "checkpoint", id, deliveredNanoUsd: 3, upstreamId: `upstream of ${id}` });
}

async function holds(): Promise<string[]> {
  const [rows] = await host.call<{ receipt: Parameters<typeof isHold>[0][] }>("rows", [account]);
  return (rows?.receipt ?? []).filter(isHold).map(({ state }) => state);
}

/** How often the prices of the hold that waits for them were read. */
async function looks(): Promise<number> {
  const [times = 0] = await host.call<number>("looks", [account]);
  return times;
}

test("questions begin one look at a hold that waits for its prices, and none for 5 s after it", async () => {
  const before = await dieWaiting();
  await host.call("ask", [account]);
  assert.equal((await looks()) - before, 1, "two questions at once");
  await host.call("ask", [account]);
  assert.equal((await looks()) - before, 1, "a question soon after");
  clock.time += 5_000;
  await host.call("ask", [account]);
  assert.equal((await looks()) - before, 2);
  assert.deepEqual(await holds(), ["orphaned"]);
});

test("an alarm that rings during a question's look does not look a second time", async () => {
  const before = await dieWaiting();
  await host.call("askAndRing", [account]);
  assert.equal((await looks()) - before, 1);
});

test("an account that nobody asks ends its last holds of a day before the day is reconciled at 06:00", async () => {
  await die("req_1", "kept");
  for (let rings = 0; clock.time < Date.UTC(2040, 1, 29, 6); rings += 1) {
    assert.ok(rings < 20);
    const due = await host.call<number | null>("alarmAt", [account, ceilingPartition]);
    const at = Math.min(...due.map((time) => time ?? Number.POSITIVE_INFINITY));
    if (at >= Date.UTC(2040, 1, 29, 6)) break;
    clock.time = at;
    await host.call("ring", due[0] === at ? [account] : [ceilingPartition]);
  }
  assert.deepEqual(await holds(), []);
  const ceiling = await host.call<{ counter: { id: string; settledNanoUsd: number }[] }>("rows", [ceilingPartition]);
  const counter = ceiling[0]?.counter.find(({ id }) => id === `ceiling@${Date.UTC(2040, 1, 28)}`);
  assert.equal(counter?.settledNanoUsd, 3);
});
