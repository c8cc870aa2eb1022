import assert from "node:assert/strict";
import { test } from "node:test";
import type { Commands } from "./commands.ts";
import { askOwner } from "./follower.ts";
import { BLOCK_MS, OUTCOME_RETENTION_MS } from "./limits.ts";
import { accountPartition, ceilingPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { type Reservation, reserveRequest } from "./reservation.ts";
import type { Saga } from "./saga.ts";
import {
  account,
  createKey,
  credit,
  type Example,
  follow,
  makeExample,
  midnight,
  noon,
  release,
  reserve,
  reserveCeiling,
  settle,
} from "./testing/example.ts";

/** Of the usual ceiling of 10,000 a block is at most 100. */
const wanting = { blocks: true } as const;
type Ceiling = Partial<Commands["reserveCeiling"]["command"]>;

const reservation = (id: string, amountNanoUsd: number, at = noon): Reservation => ({
  ...{ id, at, owner: account, amountNanoUsd, leaseMs: 900_000, detail: "{}", blocks: true },
  payer: { kind: "key", digest: "digest of key1" },
});

/** Runs a saga, and says where its steps went. */
function run<T>(host: Example, saga: Saga<T>): { steps: string[]; result: T } {
  const steps: string[] = [];
  let step = saga.next();
  while (!step.done) {
    steps.push(`${step.value.partition.split(":")[0]} ${step.value.command.type}`);
    step = saga.next(host.apply(step.value.partition, step.value.command));
  }
  return { steps, result: step.value };
}

const admit = (host: Example, id: string, amount: number, at = host.clock.now) =>
  run(host, reserveRequest(reservation(id, amount, at)));

/** An account with two requests a moment ago, which cost nothing: the next but one may draw a block. */
function makeBusy(now = noon): Example {
  const host = makeExample();
  host.clock.now = now;
  for (const id of ["r-1", "r0"]) {
    admit(host, id, 1);
    host.apply(account, { ...settle(id, 0), at: now });
  }
  host.deliverAll();
  return host;
}

/** Another request of 10 ended a moment ago, and one in flight drew a block of 40. */
function makeBlock(): Example {
  const host = makeBusy();
  admit(host, "r1", 10);
  host.apply(account, settle("r1", 10));
  host.deliverAll();
  admit(host, "r2", 10);
  return host;
}

const blocks = (host: Example) => host.rows(account).list("block", { limit: 10 });
const ceiling = (host: Example, at = noon) => {
  const { settledNanoUsd, heldNanoUsd } = answer(host.rows(ceilingPartition), { type: "ceiling", at });
  return [settledNanoUsd, heldNanoUsd];
};
const covered = ["account reserve"];
const asked = ["account reserve", "ceiling reserveCeiling"];
const drawn = [...asked, "account openBlock"];

test("few requests take no block; the fourth takes one, which covers what comes then without the ceiling", () => {
  const host = makeBusy();
  assert.deepEqual(admit(host, "r1", 10).steps, asked);
  host.apply(account, settle("r1", 4));
  host.deliverAll();
  assert.deepEqual(admit(host, "r2", 10).steps, drawn);
  assert.deepEqual(ceiling(host), [4, 22]);
  host.apply(account, settle("r2", 4));
  assert.deepEqual(admit(host, "r3", 10).steps, covered);
  assert.deepEqual(
    host.outbox().map(({ row }) => row.target.split(":")[0]),
    ["journal"],
  );
  assert.deepEqual(admit(host, "r4", 9).steps, drawn, "there is no room left");
});

test("an account whose client is idle for 10 s takes none", () => {
  const host = makeBusy();
  admit(host, "r1", 10);
  host.apply(account, settle("r1", 4));
  host.clock.now += 10_000;
  assert.deepEqual(admit(host, "r2", 10).steps, asked);
});

test("a new block covers what the old one did, which ends at its charges", () => {
  const host = makeBlock();
  assert.deepEqual(admit(host, "r3", 10).steps, covered);
  host.apply(account, settle("r2", 1));
  assert.deepEqual(admit(host, "r4", 30).steps, drawn);
  host.deliverAll();
  const [block] = blocks(host);
  // 40 in flight, and 30 times what was spent in the last second.
  assert.deepEqual([block?.drawnBy, block?.amountNanoUsd, blocks(host).length], ["r4", 70, 1]);
  assert.deepEqual(ceiling(host), [11, 70]);
  for (const id of ["r3", "r4"]) host.apply(account, settle(id, 1));
  host.apply(account, { type: "closeBlock", id: "r4" });
  host.deliverAll();
  assert.deepEqual(ceiling(host), [13, 0]);
});

test("stopped after the ceiling's grant, the block ends with its request", () => {
  const host = makeExample();
  const wants = { wantedNanoUsd: 50 };
  host.apply(account, reserve("r1", 10, wanting));
  assert.deepEqual(host.apply(ceilingPartition, reserveCeiling("r1", 10, wants)), {
    ...{ status: "reserved", keyId: null, leaseUntil: noon + 900_000, heldNanoUsd: 50 },
  });
  assert.deepEqual(ceiling(host), [0, 50]);
  host.apply(account, settle("r1", 7));
  host.deliverAll();
  assert.deepEqual(ceiling(host), [7, 0]);
  assert.deepEqual(host.apply(account, { type: "openBlock", id: "r1", amountNanoUsd: 50 }), { status: "unopened" });
  assert.deepEqual(host.apply(account, { type: "openBlock", id: "r9", amountNanoUsd: 50 }), { status: "unopened" });
});

test("what arrives when its minute is over opens nothing", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 10, wanting));
  host.apply(ceilingPartition, reserveCeiling("r1", 10, { wantedNanoUsd: 50 }));
  host.clock.now += BLOCK_MS;
  assert.deepEqual(host.apply(account, { type: "openBlock", id: "r1", amountNanoUsd: 50 }), { status: "unopened" });
});

test("a failed call to open it leaves the request admitted", () => {
  const host = makeBusy();
  host.apply(account, credit("1:2", 10));
  admit(host, "r1", 10);
  const saga = reserveRequest(reservation("r2", 10));
  let step = saga.next();
  while (!step.done) {
    const { partition, command } = step.value;
    if (command.type !== "openBlock") step = saga.next(host.apply(partition, command));
    else step = saga.throw(new Error("not reached"));
  }
  assert.equal(step.value.status, "reserved");
  host.apply(account, settle("r2", 3));
  host.deliverAll();
  assert.deepEqual(ceiling(host), [3, 10]);
});

test("nothing is admitted from it after a minute, on another day, or beyond it", () => {
  const late = makeBlock();
  late.clock.now += BLOCK_MS;
  assert.notDeepEqual(admit(late, "r3", 1).steps, covered);
  const host = makeBusy(midnight - 1);
  admit(host, "r1", 10);
  admit(host, "r2", 10);
  assert.equal(blocks(host).length, 1);
  assert.deepEqual(admit(host, "r3", 5, midnight - 1).steps, covered);
  host.clock.now = midnight;
  assert.notDeepEqual(admit(host, "r4", 5).steps, covered);
  assert.deepEqual(ceiling(host, midnight).slice(0, 1), [0]);
  assert.deepEqual(admit(host, "r5", 5, midnight - 1).steps, covered, "a clock that is behind is still in the day");
  assert.notDeepEqual(admit(host, "r6", 5, midnight - 1).steps, covered);
});

test("what it covers may end after it was closed, and ends it with the exact sum", () => {
  const host = makeBlock();
  admit(host, "r3", 10);
  assert.deepEqual(host.apply(account, { type: "closeBlock", id: "r2" }), { status: "closed" });
  const { status, ...r4 } = host.apply(account, reserve("r4", 0, wanting));
  assert.deepEqual([status, "isCovered" in r4], ["reserved", false]);
  host.apply(account, settle("r2", 9));
  assert.equal(blocks(host).length, 1);
  host.apply(account, release("r3"));
  assert.equal(blocks(host).length, 0);
  host.apply(account, release("r4"));
  host.deliverAll();
  assert.deepEqual(ceiling(host), [19, 0]);
  assert.deepEqual(host.apply(account, { type: "closeBlock", id: "r2" }), { status: "unknown" });
  assert.deepEqual(host.alerts, []);
});

test("the ceiling asks for one whose lease is over: it stays while it covers something, and else ends", () => {
  const host = makeBlock();
  const at = noon + 20 * 60_000;
  host.clock.now = at;
  const block = { id: "r2", owner: account };
  assert.equal(run(host, askOwner(ceilingPartition, block, at)).result, "open");
  host.apply(account, settle("r2", 8));
  assert.deepEqual(
    host.outbox().map(({ row }) => row.target),
    ["ceiling", "journal:2027-06-15"],
  );
  // Its report is under way, and says the same.
  assert.equal(run(host, askOwner(ceilingPartition, block, at)).result, "settled");
  host.deliverAll();
  assert.deepEqual([ceiling(host), host.alerts], [[18, 0], []]);
  const idle = makeBlock();
  idle.apply(account, settle("r2", 8));
  idle.clock.now = at;
  assert.equal(run(idle, askOwner(ceilingPartition, block, at)).result, "settled");
  assert.deepEqual([ceiling(idle), blocks(idle)], [[18, 0], []]);
});

test("how a block ended is kept for 48 hours, and until the ceiling knows it", () => {
  const host = makeBlock();
  host.apply(account, settle("r2", 8));
  host.apply(account, { type: "closeBlock", id: "r2" });
  const at = noon + OUTCOME_RETENTION_MS;
  const forget = (at: number) => {
    host.clock.now = at;
    return host.apply(account, { type: "forget", at, table: "hold", ids: ["r2.block"] }).forgotten;
  };
  assert.equal(forget(at + 1), 0);
  host.clock.now = noon;
  host.deliverAll();
  assert.deepEqual([forget(at), forget(at + 1)], [0, 1]);
});

test("a lowered ceiling closes every block, and a raised one none", () => {
  const host = makeBlock();
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 20_000 });
  assert.deepEqual(host.outbox(), []);
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 5 });
  host.deliverAll();
  assert.deepEqual(admit(host, "r3", 1).result, {
    status: "refused",
    refusal: {
      ...{ budget: "ceiling", cause: "settled", neededNanoUsd: 1, availableNanoUsd: 0, window: "day" },
      resetsAt: midnight,
    },
  });
  host.apply(account, settle("r2", 10));
  host.deliverAll();
  assert.deepEqual(ceiling(host), [20, 0]);
});

test("two that draw at once: the later one covers the earlier one, and one that cannot stays as it is", () => {
  const host = makeExample();
  for (const id of ["r-3", "r-2", "r-1"]) host.apply(account, reserve(id, 1, wanting));
  const draw = (id: string, wantedNanoUsd: number) => {
    host.clock.now += 10_000;
    const at = host.clock.now;
    host.apply(account, { ...reserve(id, 10, wanting), at });
    host.apply(ceilingPartition, { ...reserveCeiling(id, 10, { wantedNanoUsd }), at });
  };
  draw("r1", 12);
  for (const id of ["r2", "r3"]) draw(id, 40);
  const open = (id: string, amountNanoUsd: number) => host.apply(account, { type: "openBlock", id, amountNanoUsd });
  assert.equal(open("r2", 40).status, "opened");
  assert.equal(open("r2", 40).status, "opened");
  assert.equal(open("r1", 12).status, "unopened");
  assert.equal(open("r1", 40).status, "unopened", "it is older than the block");
  assert.equal(open("r3", 40).status, "opened");
  host.deliverAll();
  assert.deepEqual([blocks(host).map(({ drawnBy }) => drawnBy), ceiling(host)], [["r3"], [0, 52]]);
  assert.equal(open("r2", 40).status, "unopened");
});

test("a block that is closed before it is open is never opened", () => {
  const host = makeBusy();
  const at = host.clock.now;
  host.apply(account, reserve("r1", 10, wanting));
  const { wantedNanoUsd } = host.apply(account, reserve("r2", 10, wanting)) as { wantedNanoUsd: number };
  host.apply(ceilingPartition, { ...reserveCeiling("r2", 10, { wantedNanoUsd: 40 }), at });
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 5 });
  host.deliverAll();
  assert.ok(wantedNanoUsd > 10);
  assert.equal(host.apply(account, { type: "openBlock", id: "r2", amountNanoUsd: 40 }).status, "unopened");
  host.apply(account, settle("r2", 10));
  host.deliverAll();
  assert.deepEqual(ceiling(host), [10, 0]);
});

test("the ceiling holds no block that its owner could not open", () => {
  const host = makeExample({ balance: 1_000_000, ceiling: 100_000 });
  for (const [index, amount] of [10, 10, 10, 930, ...Array(12).fill(45)].entries()) {
    assert.equal(admit(host, `r${index}`, amount).result.status, "reserved");
    if (index >= 3) host.clock.now += 10_000;
  }
  // One of the account, and one that ends when the request that is older than it does.
  assert.ok((host.rows(ceilingPartition).get("counter", "blocks@0")?.openHolds ?? 0) <= 2);
});

test("a repeated reserve is covered as it was, or as it is by now", () => {
  const host = makeBlock();
  const first = host.apply(account, reserve("r3", 10, wanting));
  assert.deepEqual(host.apply(account, reserve("r3", 10, wanting)), first);
  assert.deepEqual(host.apply(account, reserve("r2", 10, wanting)), first);
  assert.equal(host.apply(account, reserve("r2", 11, wanting)).status, "conflict");
});

/** What the ceiling holds of a request of 1. */
function held(host: Example, id: string, more: Ceiling = {}): unknown {
  const reply = host.apply(ceilingPartition, reserveCeiling(id, 1, { wantedNanoUsd: 1_000_000, ...more }));
  return reply.status === "reserved" ? reply.heldNanoUsd : reply.status;
}
const somebody = (number: number) => ({ owner: accountPartition(`0x${String(number).padStart(40, "0")}`) });

test("a block is 1 % of what is left, all of them 5 % of the ceiling, and there is none of the last 10 %", () => {
  const host = makeExample();
  assert.deepEqual(
    [1, 2, 3].map((who) => held(host, `a${who}`, somebody(who))),
    [100, 99, 98],
  );
  for (const who of [4, 5]) held(host, `a${who}`, somebody(who));
  assert.deepEqual(
    [6, 7].map((who) => held(host, `a${who}`, somebody(who))),
    [10, 1],
  );
  const used = makeExample();
  for (let who = 1; who <= 9; who += 1) {
    const [id, amount] = [`b${who}`, who === 9 ? 1_001 : 1_000];
    used.apply(ceilingPartition, reserveCeiling(id, amount, somebody(who)));
    used.apply(ceilingPartition, follow(id, amount));
  }
  assert.equal(held(used, "c1"), 1);
});

test("however many accounts hold blocks and are idle, the others use 95 % of the ceiling at once, and all of it soon", () => {
  const host = makeExample();
  for (let who = 1; who <= 300; who += 1) held(host, `a${who}`, somebody(who));
  let used = 0;
  for (let who = 1_001; ; who += 1) {
    const reply = host.apply(ceilingPartition, reserveCeiling(`b${who}`, 10, somebody(who)));
    if (reply.status !== "reserved") break;
    used += 10;
  }
  assert.ok(used >= 9_500 - 300, `${used}`);
});

test("a block is within its account's share of the ceiling", () => {
  const host = makeExample();
  host.apply(ceilingPartition, reserveCeiling("r1", 1_990));
  assert.equal(held(host, "r2"), 10);
  assert.equal(held(host, "r3"), "refused");
  assert.equal(held(host, "r4", somebody(2)), 80);
});

test("a key's limit and the balance count what a block covers", () => {
  const host = makeBlock();
  host.apply(account, createKey("key2", { limitNanoUsd: 5 }));
  const payer = { kind: "key", digest: "digest of key2" } as const;
  assert.equal(host.apply(account, reserve("r3", 6, { ...wanting, payer })).status, "refused");
  assert.equal(host.apply(account, reserve("r4", 981, wanting)).status, "refused");
});
