import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Command, ReplyOf } from "@inference/ledger/commands";
import { accountPartition, ceilingPartition, type Partition } from "@inference/ledger/partition";
import { isHold } from "@inference/ledger/tables";
import fc from "fast-check";
import { SWEEP_WITHIN_MS } from "./partition-limits.ts";
import {
  type ClockedHost,
  type ClockedObjects,
  fund,
  type StoredRows,
  startClockedObjects,
} from "./testing/clocked-objects.ts";
import { hold } from "./testing/hold.ts";

/**
 * Requests that stop anywhere, and alarms that do not keep their time. In the future, so that the runtime rings none by
 * itself: each is set as ever, and rung here.
 */
const START = Date.UTC(2040, 1, 28, 23, 50);
const LEASE_MS = 15 * 60_000;
const SWEPT_MS = 60_000;
/** The last allowance that stayed for the day is lowered. */
const DAY_TOLD = Date.UTC(2040, 2, 1, 0, 31);
const accounts = [1, 2, 3].map((n) => accountPartition(`0x${String(n).repeat(40)}`));
const partitions = [...accounts, ceilingPartition];

/** How far the request comes, and how it ends. */
const request = fc.record({
  who: fc.nat({ max: accounts.length - 1 }),
  amount: fc.integer({ min: 1, max: 1_000 }),
  share: fc.integer({ min: 0, max: 100 }),
  /** The provider has given its answer an id, and may have a record of it. */
  isNamed: fc.boolean(),
  came: fc.constantFrom("to the ceiling alone", "to its hold", "to a checkpoint", "to its end", "to nothing"),
  afterMs: fc.constantFrom(0, 1, 2_000, 10_000, 60_000),
});
type Request = typeof request extends fc.Arbitrary<infer R> ? R : never;

const which = fc.nat({ max: partitions.length - 1 });
/** The alarm of an object that may have no work yet, while requests are in flight. */
const early = fc.record({ how: fc.constantFrom("early" as const, "twice and early" as const), which });
/** The alarm of the object that is due next, after the requests. */
const unpunctual = fc.oneof(
  early,
  fc.record({
    how: fc.constant("late" as const),
    lateMs: fc.constantFrom(1, 1_999, 60_000, 240_000, 3 * 3_600_000),
  }),
  fc.record({ how: fc.constantFrom("twice" as const, "after an eviction" as const) }),
);
type Ringing = (typeof unpunctual extends fc.Arbitrary<infer U> ? U : never) | { how: "in time" };

const rung = { "in time": 0, early: 0, "twice and early": 0, late: 0, twice: 0, "after an eviction": 0 };

let objects: ClockedObjects;
before(async () => {
  objects = await startClockedObjects();
});
after(() => objects?.stop());

const NUM_RUNS = 500;

const plans = fc.record({
  requests: fc.array(request, { minLength: 4, maxLength: 10 }),
  during: fc.array(early, { maxLength: 10 }),
  afterwards: fc.array(unpunctual, { maxLength: 16 }),
});
type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never;

/** The last request needs no answer of the ceiling, so that it comes to its hold. Four runs may draw no eviction. */
const withinAllowance: Plan = {
  requests: (["to the ceiling alone", "to a checkpoint", "to the ceiling alone"] as const).map((came) => {
    return { who: 0, amount: 1, share: 0, isNamed: false, came, afterMs: 0 };
  }),
  ...{ during: [], afterwards: [{ how: "after an eviction" }] },
};

test("alarms early, late, twice and after an eviction: every hold ends once, as it should, hours after its lease", async () => {
  await fc.assert(fc.asyncProperty(plans, play), { numRuns: NUM_RUNS, examples: [[withinAllowance]] });
  console.log(`alarms rung: ${JSON.stringify(rung)}`);
  for (const [how, times] of Object.entries(rung)) assert.ok(times >= NUM_RUNS / 15, `${how}: ${times}`);
});

async function play({ requests, during, afterwards }: Plan): Promise<void> {
  const clock = { time: START, now: () => clock.time };
  const host = await objects.open(clock);
  await host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000 });
  for (const account of accounts) await fund(host, account, START);

  const left = [...during];
  const held = new Set<string>();
  let lastLease = 0;
  for (const [index, one] of requests.entries()) {
    const isHeld = await make(host, clock, one, nameOf(index), async () => {
      const next = left.shift();
      if (next !== undefined) await ring(host, clock, next);
    });
    if (isHeld) held.add(nameOf(index));
    lastLease = clock.time + LEASE_MS;
    clock.time += one.afterMs;
  }
  // Also for what was to be delivered, and died with its object.
  let latestEnd = Math.max(lastLease + SWEEP_WITHIN_MS, DAY_TOLD) + SWEPT_MS;
  for (const next of afterwards) {
    // From there on alarms forget: rung often enough, in the end the receipts as well.
    if (!(await isAnythingLeft(host))) break;
    latestEnd += await ring(host, clock, next);
  }
  for (let rings = 0; await isAnythingLeft(host); rings += 1) {
    assert.ok(rings < 200, "alarms go on and on");
    await ring(host, clock, { how: "in time" });
    assert.ok(clock.time <= latestEnd, `something is left ${clock.time - lastLease} ms after the last lease`);
  }
  await assertEnds(host, requests, held);
  assert.doesNotMatch(objects.said(), /"level":"(alert|warn)","event":"(?!loss")/);
}

function nameOf(index: number): string {
  return `req_${String(index).padStart(2, "0")}`;
}

/** Takes a request as far as `request` says, with other events between its steps. Answers whether it had a hold. */
async function make(
  host: ClockedHost,
  clock: { time: number },
  { who, amount, share, isNamed, came }: Request,
  id: string,
  meanwhile: () => Promise<void>,
): Promise<boolean> {
  const owner = accounts[who] ?? ceilingPartition;
  const detail = JSON.stringify({ route: "chat", model: "m", snapshot: "kept", stream: true });
  const steps: [Partition, Command][] = [];
  if (came === "to nothing") return false;
  const terms = { id, digest: "digest", at: clock.time, amountNanoUsd: amount, leaseMs: LEASE_MS, detail };
  /** Applies the command, then the request dies before it holds anything, or goes on. */
  const put = async <C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>> => {
    const reply = await host.apply(partition, command);
    await meanwhile();
    if (came === "to the ceiling alone" && command.type === "allow") throw new Died();
    return reply;
  };
  try {
    assert.equal(await hold(put, owner, terms), "reserved", came);
  } catch (error) {
    if (error instanceof Died) return false;
    throw error;
  }
  if (came === "to a checkpoint" || came === "to its end") {
    const upstreamId = isNamed ? `upstream of ${id}` : null;
    steps.push([owner, { type: "checkpoint", id, deliveredNanoUsd: chargeOf(amount, share), upstreamId }]);
  }
  if (came === "to its end") {
    const end = { id, at: clock.time, lossNanoUsd: 0, detail } as const;
    const chargeNanoUsd = chargeOf(amount, share);
    if (chargeNanoUsd === 0) steps.push([owner, { type: "release", ...end }]);
    else steps.push([owner, { type: "settle", ...end, chargeNanoUsd, snapshot: "00" }]);
  }
  for (const [partition, command] of steps) {
    const reply = await host.apply(partition, command);
    assert.match(JSON.stringify(reply), /"(reserved|written|settled|released)"/, `${came}: ${JSON.stringify(reply)}`);
    await meanwhile();
  }
  return true;
}

/** A request that stopped. */
class Died extends Error {}

function chargeOf(amount: number, share: number): number {
  return Math.floor((amount * share) / 100);
}

/** Answers by how much it was late. */
async function ring(host: ClockedHost, clock: { time: number }, ringing: Ringing): Promise<number> {
  const { how } = ringing;
  if ("which" in ringing) {
    rung[how] += 1;
    const one = partitions.slice(ringing.which, ringing.which + 1);
    await host.call("ring", one);
    if (how === "twice and early") await host.call("ring", one);
    return 0;
  }
  const due = (await host.call<number | null>("alarmAt", partitions))
    .flatMap((at, index) => (at === null ? [] : [{ at, index }]))
    .sort((one, other) => one.at - other.at)[0];
  // Once all of it has ended and is forgotten, objects wake for nothing.
  if (due === undefined && how !== "in time") return 0;
  assert.ok(due !== undefined, "no alarm is set");
  rung[how] += 1;
  const lateMs = "lateMs" in ringing ? ringing.lateMs : 0;
  clock.time = Math.max(clock.time, due.at + lateMs);
  const one = partitions.slice(due.index, due.index + 1);
  if (how === "after an eviction") await host.call("evict", one);
  await host.call("ring", one);
  if (how === "twice") await host.call("ring", one);
  return lateMs;
}

async function readAll(host: ClockedHost): Promise<Map<Partition, StoredRows>> {
  const rows = await host.call<StoredRows>("rows", partitions);
  return new Map(partitions.flatMap((partition, index) => (rows[index] ? [[partition, rows[index]]] : [])));
}

async function isAnythingLeft(host: ClockedHost): Promise<boolean> {
  const all = [...(await readAll(host)).values()];
  return all.some(({ receipt, outbox, allowance }) => {
    return outbox.length > 0 || receipt.some(isHold) || allowance.some(({ dueAt }) => dueAt !== null);
  });
}

/** Each request ends as its progress alone says. */
async function assertEnds(host: ClockedHost, requests: readonly Request[], held: ReadonlySet<string>): Promise<void> {
  const ends = requests.map(({ who, amount, share, came }, index) => {
    const chargeNanoUsd = came === "to a checkpoint" || came === "to its end" ? chargeOf(amount, share) : 0;
    return { id: nameOf(index), owner: accounts[who], chargeNanoUsd };
  });
  const books = await readAll(host);
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, one) => total + one, 0);
  const settledIn = (partition: Partition, budget: string): number =>
    sum(
      (books.get(partition)?.counter ?? []).flatMap((row) => (row.id.startsWith(budget) ? [row.settledNanoUsd] : [])),
    );
  for (const [partition, { counter }] of books) {
    for (const row of counter) assert.equal(row.heldNanoUsd, 0, `${partition} ${row.id}`);
  }
  for (const account of accounts) {
    const own = ends.filter(({ id, owner }) => owner === account && held.has(id));
    assert.deepEqual(
      books.get(account)?.receipt.map(({ id, state, chargeNanoUsd }) => [id, state, chargeNanoUsd]),
      own.map(({ id, chargeNanoUsd }) => [id, chargeNanoUsd > 0 ? "settled" : "released", chargeNanoUsd]),
    );
    assert.equal(settledIn(account, "balance@"), sum(own.map(({ chargeNanoUsd }) => chargeNanoUsd)));
    assert.equal(sum(books.get(account)?.total.map((row) => row.requests) ?? []), own.length, "counted once");
  }
  const settled = ends.filter(({ chargeNanoUsd }) => chargeNanoUsd > 0);
  assert.deepEqual(
    accounts.flatMap((account) => books.get(account)?.use.map((use) => [use.receipt, use.costNanoUsd]) ?? []).sort(),
    settled.map(({ id, chargeNanoUsd }) => [id, chargeNanoUsd]).sort(),
  );
  assert.equal(settledIn(ceilingPartition, "ceiling@"), sum(settled.map(({ chargeNanoUsd }) => chargeNanoUsd)));
}
