import assert from "node:assert/strict";
import { test } from "node:test";
import type { Address } from "@inference/protocol/credential";
import type { Commands } from "./commands.ts";
import { askOwner } from "./follower.ts";
import { BLOCK_MS } from "./limits.ts";
import { accountPartition, ceilingPartition, ceilingShard, type Partition } from "./partition.ts";
import { answer } from "./reads.ts";
import { type Reservation, reserveRequest } from "./reservation.ts";
import type { Saga } from "./saga.ts";
import { account, createKey, credit, type Example, makeExample, noon, settle } from "./testing/example.ts";

/** Of the usual ceiling of 10,000 a shard's block is at most 100, and an account's share 2,000. */
const [first, second] = [ceilingShard(1), ceilingShard(2)];
const other = accountPartition(`0x${"2".repeat(40)}`);

type Terms = Partial<Pick<Reservation, "owner" | "ceiling" | "blocks" | "at">>;

const reservation = (id: string, amountNanoUsd: number, terms: Terms = {}): Reservation => ({
  ...{ id, at: noon, owner: account, amountNanoUsd, leaseMs: 900_000, detail: "{}", ceiling: first },
  payer: { kind: "key", digest: "digest of key1" },
  ...terms,
});

/** Two accounts with a balance of 100,000. */
function makeShards(): Example {
  const host = makeExample({ balance: 100_000 });
  host.apply(other, credit("1:1", 100_000));
  host.apply(other, createKey("key1"));
  return host;
}

/** Runs a saga, and says where its steps went. */
function run<T>(host: Example, saga: Saga<T>): { steps: string[]; result: T } {
  const steps: string[] = [];
  let step = saga.next();
  while (!step.done) {
    const { partition, command } = step.value;
    steps.push(`${partition.startsWith("account:") ? "account" : partition} ${command.type}`);
    step = saga.next(host.apply(partition, command));
  }
  return { steps, result: step.value };
}

const admit = (host: Example, id: string, amount: number, terms?: Terms) =>
  run(host, reserveRequest(reservation(id, amount, { at: host.clock.now, ...terms })));

/** Four requests of 10 in flight, of which the last one drew a block of 50 for the shard. */
function makeBlock(): Example {
  const host = makeShards();
  for (const id of ["r1", "r2", "r3", "r4"]) admit(host, id, 10);
  return host;
}

const view = (host: Example, partition: Partition, at = noon) => {
  const { settledNanoUsd, heldNanoUsd } = answer(host.rows(partition), { type: "ceiling", at });
  return [settledNanoUsd, heldNanoUsd];
};
const block = (host: Example, partition: Partition) =>
  host
    .rows(partition)
    .list("block", { limit: 9 })
    .map(({ drawnBy, amountNanoUsd }) => [drawnBy, amountNanoUsd]);

const covered = ["account reserve", "ceiling:1 reserveCeiling"];
const asked = [...covered, "ceiling reserveCeiling"];
const drawn = [...asked, "ceiling:1 openBlock"];

test("few requests of a shard are held by the ceiling one by one; the fourth in flight draws a block, for all accounts", () => {
  const host = makeShards();
  for (const id of ["r1", "r2", "r3"]) assert.deepEqual(admit(host, id, 10).steps, asked);
  assert.deepEqual(admit(host, "r4", 10).steps, drawn);
  assert.deepEqual([block(host, first), view(host, ceilingPartition)], [[["r4", 40]], [0, 70]]);
  for (const id of ["r5", "r6", "r7"]) assert.deepEqual(admit(host, id, 10, { owner: other }).steps, covered);
  assert.deepEqual(admit(host, "r8", 10).steps, drawn, "there is no room left");
  assert.deepEqual(admit(host, "s1", 10, { ceiling: second }).steps.slice(-1), ["ceiling reserveCeiling"]);
});

test("what a shard covers reaches the ceiling once, as the sum of its charges", () => {
  const host = makeBlock();
  admit(host, "r5", 10, { owner: other });
  for (const id of ["r1", "r2", "r3", "r4"]) host.apply(account, settle(id, 7));
  host.apply(other, settle("r5", 3));
  host.deliverAll();
  assert.deepEqual(
    [view(host, first), view(host, ceilingPartition)],
    [
      [31, 0],
      [21, 40],
    ],
  );
  host.apply(first, { type: "closeBlock", id: "r4" });
  host.deliverAll();
  assert.deepEqual(
    [view(host, first), view(host, ceilingPartition)],
    [
      [31, 0],
      [31, 0],
    ],
  );
  assert.deepEqual(host.alerts, []);
});

test("an account draws its block from its shard's, half of the room at most, and then asks neither", () => {
  const host = makeBlock();
  const busy = { blocks: true } as const;
  assert.deepEqual(admit(host, "r5", 1, busy).steps, [...covered, "account openBlock"]);
  assert.deepEqual([block(host, account), block(host, first)], [[["r5", 15]], [["r4", 40]]]);
  assert.deepEqual(admit(host, "r6", 10, busy).steps, ["account reserve"]);
  for (const id of ["r1", "r2", "r3", "r4", "r5", "r6"]) host.apply(account, settle(id, 1));
  host.apply(account, { type: "closeBlock", id: "r5" });
  host.apply(first, { type: "closeBlock", id: "r4" });
  host.deliverAll();
  assert.deepEqual(
    [view(host, first), view(host, ceilingPartition)],
    [
      [6, 0],
      [6, 0],
    ],
  );
});

test("an account that makes one request at a time draws its block with the second of them that asks", () => {
  const host = makeShards();
  const send = (id: string) => {
    const { steps } = admit(host, id, 10, { blocks: true });
    host.apply(account, settle(id, 4));
    host.deliverAll();
    return steps;
  };
  for (const id of ["r1", "r2", "r3"]) assert.deepEqual(send(id), asked);
  assert.deepEqual(send("r4"), drawn);
  assert.deepEqual(send("r5"), [...covered, "account openBlock"]);
  assert.deepEqual(send("r6"), ["account reserve"]);
});

test("an account's share of 20 % is kept over what its shard covers and what the ceiling holds itself", () => {
  const host = makeShards();
  for (const [id, amount] of [
    ["r1", 1_000],
    ["r2", 500],
    ["r3", 400],
  ] as const)
    admit(host, id, amount);
  // Of 8,100 that are left the shard's block is 81: it covers 80 of the account's last 100.
  assert.deepEqual(admit(host, "r4", 20).steps, drawn);
  assert.deepEqual(admit(host, "r5", 60).steps, covered);
  const { steps, result } = admit(host, "r6", 21);
  assert.deepEqual(steps, [...asked, "account release"]);
  const refusal = { budget: "ceiling", cause: "share_held", neededNanoUsd: 21, availableNanoUsd: 20 } as const;
  assert.deepEqual(result, { status: "refused", refusal: { ...refusal, window: "day", resetsAt: null } });
  host.deliverAll();
  assert.equal(admit(host, "r7", 20).result.status, "reserved");
  assert.equal(admit(host, "r8", 21, { owner: other }).result.status, "reserved");
  assert.equal(host.rows(first).get("hold", "r6")?.state, "released");
});

test("a request that alone is above the share, or above what is left, the ceiling refuses as without shards", () => {
  for (const amount of [2_001, 10_001]) {
    const [host, plain] = [makeShards(), makeShards()];
    assert.deepEqual(
      admit(host, "r1", amount).result,
      admit(plain, "r1", amount, { ceiling: ceilingPartition }).result,
    );
    host.deliverAll();
    assert.deepEqual(
      [view(host, first), view(host, ceilingPartition)],
      [
        [0, 0],
        [0, 0],
      ],
    );
  }
});

test("a lowered ceiling closes the shards' blocks and the accounts' in them; what is held stays good", () => {
  const host = makeBlock();
  admit(host, "r5", 1, { blocks: true });
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 5 });
  host.deliverAll();
  const { steps, result } = admit(host, "r6", 1, { blocks: true });
  assert.deepEqual([steps.slice(0, 3), result.status], [asked, "refused"]);
  for (const id of ["r1", "r2", "r3", "r4", "r5"]) host.apply(account, settle(id, 1));
  host.deliverAll();
  assert.deepEqual([block(host, account), block(host, first)], [[], []]);
  assert.deepEqual(
    [view(host, first), view(host, ceilingPartition)],
    [
      [5, 0],
      [5, 0],
    ],
  );
});

test("the alarm of a shard's block closes no account's block, and the last of these ends it", () => {
  const host = makeBlock();
  admit(host, "r5", 1, { blocks: true });
  host.clock.now += BLOCK_MS - 1;
  host.apply(first, { type: "closeBlock", id: "r4" });
  assert.deepEqual(host.outbox(), []);
  for (const id of ["r1", "r2", "r3", "r4", "r5"]) host.apply(account, settle(id, 1));
  host.deliverAll();
  assert.deepEqual([block(host, account).length, block(host, first).length], [1, 1]);
  host.apply(account, { type: "closeBlock", id: "r5" });
  host.deliverAll();
  assert.deepEqual([block(host, first), view(host, ceilingPartition)], [[], [5, 0]]);
});

test("the ceiling asks the shard for a block whose lease is over, and the shard the account", () => {
  const host = makeBlock();
  admit(host, "r5", 1, { blocks: true });
  for (const id of ["r1", "r2", "r3", "r4", "r5"]) host.apply(account, settle(id, 1));
  host.deliverAll();
  const at = noon + 20 * 60_000;
  host.clock.now = at;
  const ask = (follower: Partition, id: string, owner: Partition) => run(host, askOwner(follower, { id, owner }, at));
  assert.equal(ask(ceilingPartition, "r4", first).result, "open");
  assert.equal(ask(first, "r5", account).result, "settled");
  assert.equal(ask(ceilingPartition, "r4", first).result, "settled");
  assert.deepEqual(
    [view(host, first), view(host, ceilingPartition)],
    [
      [5, 0],
      [5, 0],
    ],
  );
});

test("with another number of shards, open holds and blocks end where they were drawn, and nothing is lost", () => {
  const host = makeBlock();
  admit(host, "r5", 1, { blocks: true });
  const elsewhere = { ceiling: second, blocks: true } as const;
  assert.deepEqual(admit(host, "r6", 1, elsewhere).steps, ["account reserve"], "its block covers it still");
  admit(host, "r7", 90, elsewhere);
  admit(host, "r8", 90, { ceiling: ceilingPartition });
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) host.apply(account, settle(`r${n}`, 1));
  for (const partition of [account, first, second]) {
    for (const [id] of block(host, partition)) host.apply(partition, { type: "closeBlock", id: String(id) });
    host.deliverAll();
  }
  assert.deepEqual(
    [first, second, ceilingPartition].map((each) => view(host, each)),
    [
      [6, 0],
      [1, 0],
      [8, 0],
    ],
  );
});

test("a request that asked for the shard's block and has died lets others ask after 10 s", () => {
  const host = makeShards();
  for (const id of ["r1", "r2", "r3"]) admit(host, id, 10);
  const reserveCeiling = (id: string): Commands["reserveCeiling"]["command"] => ({
    ...{ type: "reserveCeiling", id, at: host.clock.now, amountNanoUsd: 10, leaseMs: 900_000, owner: account },
  });
  const asks = (id: string) => "wantedNanoUsd" in host.apply(first, reserveCeiling(id));
  assert.deepEqual([asks("d1"), asks("d2")], [true, false]);
  host.clock.now += 10_000;
  assert.deepEqual([asks("d3"), asks("d4")], [true, false]);
});

test("shards have blocks in the day's last 10 % too, and none in its last 1 %", () => {
  for (const [usedNanoUsd, expected] of [
    [9_100, drawn],
    [9_901, asked],
  ] as const) {
    const host = makeShards();
    host.apply(ceilingPartition, { type: "carry", id: "used", at: noon, amountNanoUsd: usedNanoUsd });
    for (const id of ["r1", "r2", "r3"]) admit(host, id, 1);
    assert.deepEqual(admit(host, "r4", 1).steps, expected);
  }
});

test("however many accounts of three shards hold blocks and are idle, the others use 95 % of the ceiling at once", () => {
  const host = makeExample();
  const owner = (number: number) => accountPartition(`0x${String(number).padStart(40, "0")}` as Address);
  const hold = (id: string, who: number, amountNanoUsd: number, wantedNanoUsd?: number) => {
    const shard = ceilingShard(1 + (who % 3));
    const following = { id, at: noon, amountNanoUsd, leaseMs: 900_000 };
    const wants = wantedNanoUsd === undefined ? {} : { wantedNanoUsd };
    const reply = host.apply(shard, { type: "reserveCeiling", ...following, owner: owner(who), ...wants });
    if (reply.status !== "reserved" || reply.isCovered === true) return reply.status;
    const { ownNanoUsd = 0, wantedNanoUsd: wanted } = reply;
    const more = wanted === undefined ? { ownNanoUsd } : { ownNanoUsd, wantedNanoUsd: wanted };
    const root = host.apply(ceilingPartition, { type: "reserveCeiling", ...following, owner: shard, ...more });
    if (root.status !== "reserved") {
      host.apply(shard, { type: "follow", id, chargeNanoUsd: null, admittedAt: noon });
      return root.status;
    }
    const { heldNanoUsd = 0, limitNanoUsd = 0 } = root;
    if (heldNanoUsd > amountNanoUsd) {
      host.apply(shard, { type: "openBlock", id, amountNanoUsd: heldNanoUsd, limitNanoUsd });
    }
    return root.status;
  };
  for (let who = 1; who <= 300; who += 1) hold(`a${who}`, who, 1, 1_000_000);
  let used = 0;
  for (let who = 1_001; hold(`b${who}`, who, 10) === "reserved"; who += 1) used += 10;
  assert.ok(used >= 9_500 - 300, `${used}`);
});

/** Runs a request's saga to where it opens the shard's block. Returns what runs the rest. */
function upToOpening(host: Example, id: string, amount: number): () => void {
  const saga = reserveRequest(reservation(id, amount, { at: host.clock.now }));
  let step = saga.next();
  const next = () => {
    if (!step.done) step = saga.next(host.apply(step.value.partition, step.value.command));
  };
  while (!step.done && step.value.command.type !== "openBlock") next();
  assert.equal(step.done, false, `${id} draws no block`);
  return () => {
    while (!step.done) next();
  };
}

test("a shard's block that was drawn before its ceiling was lowered, and is opened after it, admits nothing", () => {
  const host = makeShards();
  for (const id of ["r1", "r2", "r3"]) admit(host, id, 10);
  const open = upToOpening(host, "r4", 10);
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 0 });
  host.deliverAll();
  open();
  assert.deepEqual(block(host, first), []);
  assert.equal(admit(host, "r5", 1, { owner: other }).result.status, "refused");
});

test("an older answer of the ceiling replaces neither a shard's block nor the limit that it knows", () => {
  const host = makeShards();
  for (const id of ["r1", "r2", "r3"]) admit(host, id, 10);
  const openOlder = upToOpening(host, "r4", 10);
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 9_000 });
  host.clock.now += 10_000;
  upToOpening(host, "r5", 10)();
  openOlder();
  assert.equal(block(host, first)[0]?.[0], "r5");
  assert.equal(host.rows(first).get("budget", "ceiling")?.limitNanoUsd, 9_000);
});
