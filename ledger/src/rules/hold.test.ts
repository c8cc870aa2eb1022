import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import {
  account,
  admit,
  bySession,
  createKey,
  identity,
  makeExample,
  midnight,
  noon,
  openSession,
  refusalOf,
  release,
  reserve,
  settle,
} from "../testing/example.ts";

const balanceOf = (host: ReturnType<typeof makeExample>) => {
  const { settledNanoUsd, heldNanoUsd, availableNanoUsd } = answer(host.rows(account), { type: "balance", at: noon });
  return [settledNanoUsd, heldNanoUsd, availableNanoUsd];
};

test("of 64 requests of 60 % of the balance, one is admitted", () => {
  const host = makeExample({ balance: 1_000 });
  const replies = Array.from({ length: 64 }, (_, n) => admit(host, account, reserve(`r${n}`, 600)));
  assert.equal(replies.filter(({ status }) => status === "reserved").length, 1);
  assert.deepEqual(refusalOf(replies[63] ?? { status: "conflict" }), ["balance", "held", 600, 400, "lifetime", null]);
});

test("a balance can be held and settled to its last nano-dollar, and not one further", () => {
  const host = makeExample({ balance: 1_000 });
  assert.deepEqual(refusalOf(admit(host, account, reserve("r1", 1_001))), [
    "balance",
    "settled",
    1_001,
    1_000,
    "lifetime",
    null,
  ]);
  assert.equal(admit(host, account, reserve("r2", 1_000)).status, "reserved");
  assert.deepEqual(refusalOf(admit(host, account, reserve("r3", 1))), ["balance", "held", 1, 0, "lifetime", null]);
  host.apply(account, settle("r2", 1_000));
  assert.deepEqual(refusalOf(admit(host, account, reserve("r4", 1))), ["balance", "settled", 1, 0, "lifetime", null]);
  assert.deepEqual(balanceOf(host), [1_000, 0, 0]);
});

test("a request that fits once the others are over is in the way of holds only", () => {
  const host = makeExample({ balance: 1_000 });
  admit(host, account, reserve("r1", 1));
  assert.deepEqual(refusalOf(admit(host, account, reserve("r2", 1_000))).slice(0, 4), ["balance", "held", 1_000, 999]);
  assert.deepEqual(refusalOf(admit(host, account, reserve("r3", 1_001))).slice(0, 4), [
    "balance",
    "settled",
    1_001,
    999,
  ]);
});

test("nothing is an amount that always fits", () => {
  const host = makeExample({ balance: 0 });
  assert.equal(admit(host, account, reserve("r1", 0)).status, "reserved");
});

test("guards refuse in their order: known id, clock, credential, in flight, balance, key", () => {
  const host = makeExample({ balance: 100 });
  host.apply(account, createKey("key2", { window: "day", limitNanoUsd: 50 }));
  admit(host, account, reserve("known", 1));
  const key2 = { kind: "key", digest: "digest of key2" } as const;
  const wrong = { kind: "key", digest: "nobody's" } as const;
  const late = noon - 60_001;
  assert.equal(admit(host, account, reserve("known", 1_000, { at: late, payer: wrong })).status, "conflict");
  assert.equal(admit(host, account, reserve("r1", 1_000, { at: late, payer: wrong })).status, "clock_skew");
  assert.equal(admit(host, account, reserve("r1", 1_000, { payer: wrong })).status, "unauthenticated");
  assert.equal(refusalOf(admit(host, account, reserve("r2", 1_000, { payer: key2 })))[0], "balance");
  assert.deepEqual(refusalOf(admit(host, account, reserve("r3", 60, { payer: key2 }))), [
    "key",
    "settled",
    60,
    50,
    "day",
    midnight,
  ]);
  for (let n = 1; n < 32; n++) admit(host, account, reserve(`f${n}`, 0));
  assert.deepEqual(refusalOf(admit(host, account, reserve("r4", 1_000, { payer: key2 }))), [
    "balance",
    "in_flight",
    1_000,
    0,
    "lifetime",
    null,
  ]);
});

test("32 requests are in flight at most, and each that ends makes room", () => {
  const host = makeExample();
  for (let n = 0; n < 32; n++) assert.equal(admit(host, account, reserve(`r${n}`, 1)).status, "reserved");
  assert.equal(refusalOf(admit(host, account, reserve("r32", 1)))[1], "in_flight");
  host.apply(account, release("r0"));
  assert.equal(admit(host, account, reserve("r33", 1)).status, "reserved");
});

test("a time 60 s off is admitted, 60.001 s is not", () => {
  const host = makeExample();
  for (const skew of [-60_000, 60_000]) {
    assert.equal(admit(host, account, reserve(`r${skew}`, 1, { at: noon + skew })).status, "reserved");
  }
  for (const skew of [-60_001, 60_001]) {
    assert.equal(admit(host, account, reserve(`r${skew}`, 1, { at: noon + skew })).status, "clock_skew");
  }
});

test("a key's limit is its window's: what was admitted before midnight counts before midnight", () => {
  const host = makeExample();
  host.apply(account, createKey("day", { window: "day", limitNanoUsd: 100 }));
  host.apply(account, createKey("month", { window: "month", limitNanoUsd: 100 }));
  host.apply(account, createKey("life", { window: "lifetime", limitNanoUsd: 100 }));
  const payer = (key: string) => ({ kind: "key", digest: `digest of ${key}` }) as const;
  host.clock.now = midnight - 1;
  for (const key of ["day", "month", "life"]) {
    admit(host, account, reserve(key, 100, { at: host.clock.now, payer: payer(key) }));
  }
  const before = admit(host, account, reserve("r1", 1, { at: midnight - 1, payer: payer("day") }));
  assert.deepEqual(refusalOf(before), ["key", "held", 1, 0, "day", midnight]);
  host.clock.now = midnight;
  assert.equal(admit(host, account, reserve("r2", 100, { at: midnight, payer: payer("day") })).status, "reserved");
  host.apply(account, settle("day", 70));
  assert.equal(answer(host.rows(account), { type: "key", keyId: "day", at: midnight })?.budget.settledNanoUsd, 0);
  assert.equal(answer(host.rows(account), { type: "key", keyId: "day", at: noon })?.budget.settledNanoUsd, 70);
  const monthEnd = Date.UTC(2027, 6, 1);
  const month = admit(host, account, reserve("r3", 1, { at: midnight, payer: payer("month") }));
  assert.deepEqual(refusalOf(month), ["key", "held", 1, 0, "month", monthEnd]);
  const life = admit(host, account, reserve("r4", 1, { at: midnight, payer: payer("life") }));
  assert.deepEqual(refusalOf(life), ["key", "held", 1, 0, "lifetime", null]);
  host.clock.now = monthEnd;
  assert.equal(admit(host, account, reserve("r5", 100, { at: monthEnd, payer: payer("month") })).status, "reserved");
});

test("a session spends its identity's capacity of the day of its request, and nothing else", () => {
  const host = makeExample({ capacity: 100, balance: 0 });
  assert.equal(admit(host, identity, reserve("r1", 100, bySession)).status, "reserved");
  assert.deepEqual(refusalOf(admit(host, identity, reserve("r2", 1, bySession))), [
    "capacity",
    "held",
    1,
    0,
    "day",
    midnight,
  ]);
  host.apply(identity, settle("r1", 40));
  assert.deepEqual([host.outbox(), host.all("use"), host.all("allowance")], [[], [], []]);
  host.clock.now = midnight;
  const tomorrow = reserve("r3", 1, { ...bySession, at: midnight });
  assert.deepEqual(refusalOf(host.apply(identity, tomorrow)), [
    "capacity",
    "settled",
    1,
    0,
    "day",
    midnight + 86_400_000,
  ]);
  host.apply(identity, { type: "setCapacity", at: midnight, limitNanoUsd: 10 });
  host.apply(identity, { type: "setCapacity", at: midnight - 1, limitNanoUsd: 1_000 });
  assert.equal(refusalOf(admit(host, identity, reserve("r4", 11, { ...bySession, at: midnight })))[3], 10);
});

test("a credential is refused for what it is", () => {
  const host = makeExample();
  const fault = (key: string, at = noon) => {
    const reply = admit(
      host,
      account,
      reserve(`${key} ${at}`, 1, { at, payer: { kind: "key", digest: `digest of ${key}` } }),
    );
    return reply.status === "unauthenticated" ? reply.fault : reply.status;
  };
  host.apply(account, createKey("short", { expiresAt: noon + 1 }));
  assert.equal(fault("short"), "reserved");
  assert.equal(fault("short", noon + 1), "expired");
  host.apply(account, { type: "updateKey", keyId: "short", disabled: true });
  assert.equal(fault("short", noon - 1), "disabled");
  host.apply(account, { type: "revokeKey", at: noon, keyId: "short" });
  assert.equal(fault("short", noon + 2), "revoked");
  assert.equal(fault("none"), "unknown");
  const session = (at: number) => admit(host, identity, reserve(`s${at}`, 1, { ...bySession, at }));
  host.apply(identity, { ...openSession("session1"), expiresAt: noon + 99_999_999 });
  host.clock.now = noon + 86_400_000;
  assert.deepEqual(session(host.clock.now), { status: "unauthenticated", fault: "expired" });
  host.apply(identity, { type: "revokeSession", at: noon, digest: "session1" });
  assert.deepEqual(session(host.clock.now + 1), { status: "unauthenticated", fault: "revoked" });
});

test("the same reserve has the same reply after its hold has ended, and tells what is left now", () => {
  const host = makeExample();
  const first = admit(host, account, reserve("r1", 600));
  host.apply(account, { type: "orphan", id: "r1", at: noon, graceMs: 5_000_000 });
  assert.deepEqual(admit(host, account, reserve("r1", 600)), first);
  host.apply(account, release("r1"));
  host.clock.now += 3_600_000;
  assert.deepEqual(admit(host, account, reserve("r1", 600)), { ...first, availableNanoUsd: 1_000 });
  assert.deepEqual(balanceOf(host), [0, 0, 1_000]);
});

test("a refused request leaves no row, and is checked again when it comes again", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  const before = JSON.stringify(host.all("receipt"));
  assert.equal(admit(host, account, reserve("r2", 600)).status, "refused");
  assert.equal(JSON.stringify(host.all("receipt")), before);
  host.apply(account, release("r1"));
  assert.equal(admit(host, account, reserve("r2", 600)).status, "reserved");
});

test("the same id with anything else is a conflict", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  const others = [
    { amountNanoUsd: 601 },
    { at: noon + 1 },
    { leaseMs: 1 },
    { payer: { kind: "key", digest: "another" } },
    { payer: { kind: "session", digest: "digest of key1" } },
  ] as const;
  for (const other of others) assert.equal(admit(host, account, reserve("r1", 600, other)).status, "conflict");
  assert.deepEqual(balanceOf(host), [0, 600, 400]);
});

test("a settle charges its cost, frees the rest, and lays a use on the line and on the ceiling of its day", () => {
  const host = makeExample();
  admit(host, account, reserve("r0", 600));
  host.apply(account, settle("r0", 1));
  admit(host, account, reserve("r1", 600));
  host.clock.now = midnight + 1;
  const settled = host.apply(account, { ...settle("r1", 250), at: midnight + 1, lossNanoUsd: 7 });
  assert.deepEqual(settled, { status: "settled", availableNanoUsd: 749 });
  assert.deepEqual(balanceOf(host), [251, 0, 749]);
  host.deliverAll();
  const days = [noon, midnight].map((at) => answer(host.rows(ceilingPartition), { type: "ceiling", at }));
  assert.deepEqual(
    days.map(({ settledNanoUsd, heldNanoUsd }) => [settledNanoUsd, heldNanoUsd]),
    [
      [251, 0],
      [0, 0],
    ],
  );
  const use = { id: "0000000000000251", receipt: "r1", costNanoUsd: 250, admittedAt: noon, server: null, offer: null };
  assert.deepEqual(host.rows(account).get("use", use.id), { ...use, snapshot: "00" });
  const { fingerprint, leaseUntil, ...receipt } = answer(host.rows(account), { type: "receipt", id: "r1" }) ?? {};
  assert.deepEqual(receipt, {
    id: "r1",
    state: "settled",
    admittedAt: noon,
    resolvedAt: midnight + 1,
    heldNanoUsd: 600,
    chargeNanoUsd: 250,
    lossNanoUsd: 7,
    deliveredNanoUsd: 0,
    upstreamId: null,
    keyId: "key1",
    server: null,
    offer: null,
    endsAtNanoUsd: 251,
    detail: "{}",
    heldTokens: null,
  });
});

test("a settle at zero is a settle, and leaves no use", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  assert.equal(host.apply(account, settle("r1", 0)).status, "settled");
  assert.deepEqual(host.all("use"), []);
  assert.equal(answer(host.rows(account), { type: "receipt", id: "r1" })?.state, "settled");
  assert.equal(host.apply(account, release("r1")).status, "already_resolved");
});

test("a settle above its hold changes nothing and tells the operator", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  assert.equal(host.apply(account, settle("r1", 601)).status, "exceeds_hold");
  assert.equal(host.alerts.length, 1);
  assert.deepEqual(balanceOf(host), [0, 600, 400]);
  assert.equal(host.apply(account, settle("r1", 600)).status, "settled");
});

test("a second end: the same answers as before, another changes nothing and tells the operator", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  host.apply(account, settle("r1", 250));
  host.deliverAll();
  assert.equal(host.apply(account, settle("r1", 250)).status, "settled");
  assert.equal(host.alerts.length, 0);
  assert.equal(host.apply(account, settle("r1", 251)).status, "already_resolved");
  assert.equal(host.apply(account, release("r1")).status, "already_resolved");
  assert.equal(host.alerts.length, 2);
  assert.deepEqual(balanceOf(host), [250, 0, 750]);
  assert.deepEqual(host.outbox(), []);
  assert.equal(host.apply(account, settle("nobody", 1)).status, "unknown");
  assert.equal(host.apply(account, release("nobody")).status, "unknown");
});

test("a release charges nothing, leaves a receipt and no use", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  assert.equal(host.apply(account, release("r1")).status, "released");
  assert.equal(host.apply(account, release("r1")).status, "released");
  assert.deepEqual(balanceOf(host), [0, 0, 1_000]);
  assert.equal(answer(host.rows(account), { type: "receipt", id: "r1" })?.state, "released");
  assert.deepEqual(host.all("use"), []);
});

test("a checkpoint can say that another model answers, and one that does not say keeps what was said", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  const checkpoint = (more: { detail?: string }) => {
    host.apply(account, { type: "checkpoint", id: "r1", deliveredNanoUsd: 1, upstreamId: null, ...more });
    return host.rows(account).get("receipt", "r1")?.detail;
  };
  assert.equal(checkpoint({ detail: "another" }), "another");
  assert.equal(checkpoint({}), "another");
});

test("checkpoints only grow, at most to the hold, and keep the provider's id", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  const checkpoint = (deliveredNanoUsd: number, upstreamId: string | null) => {
    host.apply(account, { type: "checkpoint", id: "r1", deliveredNanoUsd, upstreamId });
    const hold = host.rows(account).get("receipt", "r1");
    return [hold?.deliveredNanoUsd, hold?.upstreamId];
  };
  assert.deepEqual(checkpoint(100, "up1"), [100, "up1"]);
  assert.deepEqual(checkpoint(50, null), [100, "up1"]);
  assert.deepEqual(checkpoint(601, null), [600, "up1"]);
  assert.equal(
    host.apply(account, { type: "checkpoint", id: "r2", deliveredNanoUsd: 1, upstreamId: null }).status,
    "unknown",
  );
  host.apply(account, settle("r1", 1));
  assert.equal(
    host.apply(account, { type: "checkpoint", id: "r1", deliveredNanoUsd: 1, upstreamId: null }).status,
    "already_resolved",
  );
});

test("an orphan still counts, keeps its grace when orphaned again, and ends like any hold", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 600));
  const orphan = (id: string, at: number) => host.apply(account, { type: "orphan", id, at, graceMs: 900_000 }).status;
  assert.equal(orphan("r1", noon + 900_000), "orphaned");
  assert.equal(orphan("r1", noon + 999_000), "orphaned");
  assert.equal(host.rows(account).get("receipt", "r1")?.leaseUntil, noon + 1_800_000);
  assert.deepEqual(balanceOf(host), [0, 600, 400]);
  assert.equal(host.apply(account, settle("r1", 5)).status, "settled");
  assert.equal(orphan("r1", noon), "already_resolved");
  assert.equal(orphan("r2", noon), "unknown");
});

test("an id whose request was given up before it came never comes", () => {
  const host = makeExample();
  const givenUp = { type: "release", id: "r1", at: noon, lossNanoUsd: 0, detail: null } as const;
  assert.equal(host.apply(account, givenUp).status, "unknown");
  assert.equal(admit(host, account, reserve("r1", 600)).status, "conflict");
  assert.deepEqual(balanceOf(host), [0, 0, 1_000]);
  assert.equal(answer(host.rows(account), { type: "receipt", id: "r1" }), null);
});

test("a release without a detail, of a request that was never forwarded, leaves no receipt and frees the same", () => {
  const host = makeExample({ balance: 1_000 });
  admit(host, account, reserve("r1", 600));
  assert.deepEqual(balanceOf(host), [0, 600, 400]);
  const released = { type: "release", id: "r1", at: noon, lossNanoUsd: 0, detail: null } as const;
  assert.equal(host.apply(account, released).status, "released");
  assert.equal(host.apply(account, released).status, "released");
  assert.deepEqual(balanceOf(host), [0, 0, 1_000]);
  assert.equal(answer(host.rows(account), { type: "receipt", id: "r1" }), null);
});
