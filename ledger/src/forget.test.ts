import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition } from "./partition.ts";
import {
  account,
  createKey,
  follow,
  identity,
  makeExample,
  midnight,
  noon,
  release,
  reserve,
  reserveCeiling,
  settle,
} from "./testing/example.ts";

const hours = 3_600_000;
const over = noon + 48 * hours + 1;

test("an outcome is kept for 48 h, and an unresolved hold for as long as it takes", () => {
  const host = makeExample();
  for (const id of ["settled", "open", "orphaned"]) host.apply(account, reserve(id, 10));
  host.apply(account, { type: "inquire", id: "tombstone", at: noon });
  host.apply(account, settle("settled", 5));
  host.apply(account, { type: "orphan", id: "orphaned", at: noon, graceMs: 1 });
  host.deliverAll();
  const ids = ["settled", "open", "orphaned", "tombstone", "none"];
  const forget = (at: number) => {
    host.clock.now = at;
    return host.apply(account, { type: "forget", at, table: "hold", ids }).forgotten;
  };
  assert.equal(forget(over - 1), 0);
  assert.equal(forget(over), 2);
  assert.deepEqual(
    host
      .rows(account)
      .list("hold", { limit: 9 })
      .map(({ id }) => id),
    ["open", "orphaned"],
  );
  assert.equal(
    host.apply(account, reserve("settled", 10)).status,
    "clock_skew",
    "what is forgotten is too old to come again",
  );
  assert.equal(host.apply(account, settle("settled", 5)).status, "unknown");
});

test("a hold that a follower has yet to hear of is kept", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 10));
  host.apply(account, release("r1"));
  host.clock.now = over;
  const forget = () => host.apply(account, { type: "forget", at: over, table: "hold", ids: ["r1"] }).forgotten;
  assert.equal(forget(), 0);
  host.deliverAll();
  assert.equal(forget(), 1);
});

test("a follower forgets by the same rule", () => {
  const host = makeExample();
  host.apply(ceilingPartition, reserveCeiling("r1", 10));
  host.apply(ceilingPartition, reserveCeiling("r2", 10));
  host.apply(ceilingPartition, follow("r1", 10));
  host.clock.now = over;
  assert.equal(
    host.apply(ceilingPartition, { type: "forget", at: over, table: "hold", ids: ["r1", "r2"] }).forgotten,
    1,
  );
});

test("a clock that jumped forgets nothing", () => {
  const host = makeExample();
  host.apply(account, reserve("r1", 9_999));
  assert.equal(host.apply(account, { type: "forget", at: over, table: "hold", ids: ["r1"] }).forgotten, 0);
});

test("nonces and sessions are kept until nothing could use them", () => {
  const host = makeExample();
  host.apply(identity, { type: "consumeNonce", at: noon, nonce: "n1", expiresAt: noon, digest: "s" });
  const forget = (table: "nonce" | "session", id: string, at: number) => {
    host.clock.now = at;
    return host.apply(identity, { type: "forget", at, table, ids: [id] }).forgotten;
  };
  assert.equal(forget("nonce", "n1", over - 1), 0);
  assert.equal(forget("nonce", "n1", over), 1);
  assert.equal(forget("session", "session1", over + 24 * hours - 1), 0);
  assert.equal(forget("session", "session1", over + 24 * hours), 1);
});

const day = 24 * hours;
const payer = { kind: "key", digest: "digest of key2" } as const;

test("a key is forgotten 48 h after it was revoked, with its secret, its limit and what it counted", () => {
  const host = makeExample();
  const tally = { model: "m", promptTokens: 1, completionTokens: 2 };
  host.apply(account, createKey("key2", { window: "day", limitNanoUsd: 100 }));
  for (const [id, at] of [
    ["r1", noon],
    ["r2", noon + day],
    ["r3", noon + 3 * day],
  ] as const) {
    host.clock.now = at;
    host.apply(account, reserve(id, 10, { payer, at }));
    host.apply(account, { ...settle(id, 10), at, tally });
  }
  const revokedAt = noon + 3 * day;
  host.apply(account, { type: "revokeKey", at: revokedAt, keyId: "key2" });
  const told = () => ({
    totals: host.rows(account).list("total", { limit: 9 }),
    receipts: host.rows(account).list("receipt", { limit: 9 }),
    balance: host.rows(account).get("counter", "balance@0"),
  });
  const before = told();
  assert.equal(before.totals.length, 3);
  const forget = (id: string, at: number) => {
    host.clock.now = at;
    return host.apply(account, { type: "forget", at, table: "key", ids: [id] }).forgotten;
  };
  assert.equal(forget("key2", revokedAt + 48 * hours), 0);
  assert.equal(forget("key2", revokedAt + 48 * hours + 1), 1);
  const left = (["key", "secret", "budget", "counter"] as const).flatMap((table) =>
    host.rows(account).list(table, { limit: 99 }),
  );
  assert.deepEqual(
    left.filter((row) => JSON.stringify(row).includes("key2")),
    [],
  );
  assert.deepEqual(told(), before);
  assert.equal(host.rows(account).get("account", "account")?.keys, 1);
  assert.equal(forget("key1", revokedAt + 4_800 * hours), 0, "a key that is good is none of those");
});

test("a revoked key under which a request is still open is kept until that has ended", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { window: "day" }));
  host.apply(account, reserve("r1", 10, { payer }));
  host.apply(account, { type: "revokeKey", at: noon, keyId: "key2" });
  host.clock.now = over;
  const forget = () => host.apply(account, { type: "forget", at: over, table: "key", ids: ["key2"] }).forgotten;
  assert.equal(forget(), 0);
  host.apply(account, settle("r1", 5));
  assert.equal(forget(), 1);
});

test("a request on the other side of midnight, by a clock a little off, is found with its key", () => {
  const host = makeExample();
  const [before, after] = [midnight - 1, midnight + 1];
  host.clock.now = before;
  host.apply(account, createKey("key2", { window: "day", at: after }));
  host.apply(account, reserve("r1", 10, { payer, at: before }));
  host.apply(account, reserve("r2", 10, { payer, at: after }));
  host.apply(account, { type: "revokeKey", at: before, keyId: "key2" });
  const at = after + 48 * hours;
  const forget = () => host.apply(account, { type: "forget", at, table: "key", ids: ["key2"] }).forgotten;
  host.clock.now = at;
  for (const id of ["r1", "r2"]) {
    assert.equal(forget(), 0, id);
    host.apply(account, settle(id, 5));
  }
  assert.equal(forget(), 1);
  const counters = host.rows(account).list("counter", { limit: 99 });
  assert.deepEqual(
    counters.filter(({ id }) => id.startsWith("key:key2")),
    [],
  );
});
