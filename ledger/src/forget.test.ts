import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, ceilingPartition } from "./partition.ts";
import { tableNames } from "./schema.ts";
import {
  account,
  bySession,
  createKey,
  credit,
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

const forgetAt = (
  host: ReturnType<typeof makeExample>,
  table: "key" | "session" | "hold",
  ids: string[],
  at: number,
) => {
  host.clock.now = at;
  return host.apply(table === "session" ? identity : account, { type: "forget", at, table, ids }).forgotten;
};
const named = (host: ReturnType<typeof makeExample>, text: string) =>
  (["key", "secret", "budget", "counter"] as const)
    .flatMap((table) => host.rows(account).list(table, { limit: 999 }))
    .filter((row) => JSON.stringify(row).includes(text));

test("a key that expired is forgotten as one that was revoked then, and makes room for another", () => {
  const host = makeExample();
  const expiresAt = noon + day;
  for (let n = 2; n <= 100; n++) {
    const id = `key${n}`;
    host.apply(account, createKey(id, { expiresAt, window: "day" }));
    host.apply(account, reserve(`r${n}`, 1, { payer: { kind: "key", digest: `digest of ${id}` } }));
    host.apply(account, settle(`r${n}`, 1));
    if (n === 7) host.apply(account, { type: "revokeKey", at: expiresAt + day, keyId: id });
  }
  const ids = host
    .rows(account)
    .list("key", { limit: 999 })
    .map(({ id }) => id);
  assert.equal(forgetAt(host, "key", ids, expiresAt + 48 * hours), 0);
  assert.equal(host.apply(account, reserve("late", 1, { payer, at: host.clock.now })).status, "unauthenticated");
  assert.equal(forgetAt(host, "key", ids, expiresAt + 48 * hours + 1), 99);
  assert.deepEqual(named(host, "key:key2"), []);
  assert.equal(host.rows(account).get("account", "account")?.keys, 1);
  for (let n = 2; n <= 100; n++) {
    const at = host.clock.now;
    assert.equal(host.apply(account, createKey(`new${n}`, { at, nonce: `again ${n}` })).status, "created");
  }
  assert.equal(host.apply(account, createKey("too many")).status, "too_many_keys");
});

test("an expired key under which a request is still open is kept until that has ended", () => {
  const host = makeExample();
  host.apply(account, createKey("key2", { window: "day", expiresAt: noon + 1 }));
  host.apply(account, reserve("r1", 10, { payer }));
  assert.equal(forgetAt(host, "key", ["key2"], over + 1), 0);
  host.apply(account, settle("r1", 5));
  assert.equal(forgetAt(host, "key", ["key2"], over + 1), 1);
});

test("an account that is never credited keeps its keys a week and two days, and then there is nothing of it", () => {
  const host = makeExample();
  const empty = accountPartition(`0x${"2".repeat(40)}`);
  const last = noon + 9 * day;
  for (let n = 0; n < 100; n++) {
    host.apply(empty, createKey(`key${n}`, { window: "day", ...(n === 5 ? { expiresAt: last } : {}) }));
  }
  const free = { payer: { kind: "key", digest: "digest of key1" }, followers: [] } as const;
  assert.equal(host.apply(empty, reserve("free", 0, free)).status, "reserved");
  const all = () =>
    tableNames.flatMap((table) =>
      host
        .rows(empty)
        .list(table, { limit: 999 })
        .map(({ id }) => `${table} ${id}`),
    );
  const forget = (table: "key" | "nonce" | "hold", at: number) => {
    host.clock.now = at;
    const ids = host
      .rows(empty)
      .list(table, { limit: 999 })
      .map(({ id }) => id);
    return host.apply(empty, { type: "forget", at, table, ids }).forgotten;
  };
  assert.equal(forget("key", last), 0);
  assert.equal(host.rows(empty).get("account", "account")?.keys, 100);
  assert.equal(forget("key", last + 1), 99, "all but the one that is in use");
  const known = host.apply(empty, reserve("r1", 1, { ...free, at: host.clock.now }));
  assert.equal(known.status, "refused");
  host.apply(empty, { ...release("free"), detail: null });
  assert.equal(forget("key", last + 1), 1);
  assert.deepEqual(host.apply(empty, reserve("r1", 1, { ...free, at: host.clock.now })), {
    status: "unauthenticated",
    fault: "unknown",
  });
  forget("nonce", last + 1);
  forget("hold", last + 1);
  assert.deepEqual(all(), []);
});

test("a key that is used for what is free, without any credit, stays while it is used", () => {
  const host = makeExample();
  const empty = accountPartition(`0x${"2".repeat(40)}`);
  host.apply(empty, createKey("key2"));
  const free = { payer: { kind: "key", digest: "digest of key2" }, followers: [] } as const;
  let at: number = noon;
  const forget = (table: "hold" | "key", ids: string[]) =>
    host.apply(empty, { type: "forget", at, table, ids }).forgotten;
  const used: string[] = [];
  for (let n = 0; n < 30; n++, at += day) {
    host.clock.now = at;
    forget("hold", used);
    assert.equal(forget("key", ["key2"]), 0, `day ${n}`);
    assert.equal(host.apply(empty, reserve(`r${n}`, 0, { ...free, at })).status, "reserved");
    host.apply(empty, { ...settle(`r${n}`, 0), at });
    used.push(`r${n}`);
  }
  for (const [later, forgotten] of [
    [8 * day, 0],
    [day, 1],
  ] as const) {
    at += later;
    host.clock.now = at;
    forget("hold", used);
    assert.equal(forget("key", ["key2"]), forgotten);
  }
});

test("a key that waits for its account's first credit stays once that has come, and is not looked at again", () => {
  const host = makeExample();
  const late = accountPartition(`0x${"3".repeat(40)}`);
  host.apply(late, createKey("key2"));
  const waits = () => host.rows(late).get("key", "key2")?.unpaidUntil;
  assert.equal(waits(), noon + 7 * day);
  host.clock.now = noon + 9 * day;
  host.apply(late, credit("1:2", 1));
  const forget = (at: number) => {
    host.clock.now = at;
    return host.apply(late, { type: "forget", at, table: "key", ids: ["key2"] }).forgotten;
  };
  assert.equal(forget(noon + 9 * day + 1), 0);
  assert.equal(waits(), null);
  assert.equal(forget(noon + 4_000 * day), 0);
  assert.equal(host.apply(late, reserve("r1", 1, { payer, at: host.clock.now })).status, "reserved");
  host.apply(late, createKey("key3"));
  assert.equal(host.rows(late).get("key", "key3")?.unpaidUntil, null);
});

test("a counter of a day or a month goes with the holds of it, once it has ended and nothing is open in it", () => {
  const host = makeExample();
  host.apply(account, createKey("daily", { window: "day", limitNanoUsd: 100 }));
  host.apply(account, createKey("monthly", { window: "month", limitNanoUsd: 100 }));
  const by = (keyId: string) => ({ kind: "key", digest: `digest of ${keyId}` }) as const;
  const counters = () =>
    host
      .rows(account)
      .list("counter", { limit: 999 })
      .map(({ id }) => id.replace(/(?<=@)\d\d+/, (start) => new Date(Number(start)).toISOString().slice(0, 10)));
  const spend = (id: string, at: number) => {
    host.clock.now = at;
    for (const keyId of ["daily", "monthly"]) {
      host.apply(account, reserve(`${keyId} ${id}`, 1, { at, payer: by(keyId), followers: [] }));
      host.apply(account, { ...settle(`${keyId} ${id}`, 1), at });
    }
    host.deliverAll();
  };
  const forget = (at: number) => {
    const ids = host
      .rows(account)
      .list("hold", { limit: 999 })
      .map(({ id }) => id);
    return forgetAt(host, "hold", ids, at);
  };
  spend("in June", noon);
  assert.equal(forget(noon + 3 * day), 2);
  assert.deepEqual(counters(), ["balance@0", "key:monthly@2027-06-01"]);
  spend("late in June", Date.UTC(2027, 5, 30, 23));
  host.apply(account, reserve("open", 1, { at: host.clock.now, payer: by("daily"), followers: [] }));
  assert.equal(forget(Date.UTC(2027, 6, 3)), 2);
  assert.deepEqual(counters(), ["balance@0", "key:daily@2027-06-30"], "one is open still");
  spend("in July", Date.UTC(2027, 6, 3));
  forget(Date.UTC(2027, 6, 6));
  assert.deepEqual(counters(), ["balance@0", "key:daily@2027-06-30", "key:monthly@2027-07-01"]);
  // July has outlived its holds: its counter goes with the next hold of a later month.
  spend("in December", Date.UTC(2027, 11, 3));
  forget(Date.UTC(2027, 11, 6));
  assert.deepEqual(counters(), ["balance@0", "key:daily@2027-06-30", "key:monthly@2027-12-01"]);
  host.apply(account, { ...settle("open", 1), at: host.clock.now });
  host.deliverAll();
  assert.equal(forget(Date.UTC(2027, 11, 6)), 1);
  assert.deepEqual(counters(), ["balance@0", "key:monthly@2027-12-01"]);
  assert.equal(host.rows(account).get("counter", "balance@0")?.settledNanoUsd, 9);
});

test("the ceiling's counters go with its holds, and what an account holds of it stays", () => {
  const host = makeExample();
  host.apply(ceilingPartition, reserveCeiling("r1", 10));
  host.apply(ceilingPartition, reserveCeiling("r2", 10));
  host.apply(ceilingPartition, follow("r1", 10));
  const forget = (ids: string[]) => host.apply(ceilingPartition, { type: "forget", at: over, table: "hold", ids });
  const counters = () =>
    host
      .rows(ceilingPartition)
      .list("counter", { limit: 9 })
      .map(({ id }) => id);
  host.clock.now = over;
  forget(["r1"]);
  assert.deepEqual(counters(), [`ceiling@${midnight - day}`, `share:${account}@0`], "one is open still");
  host.apply(ceilingPartition, follow("r2", 10));
  forget(["r2"]);
  assert.deepEqual(counters(), []);
});

test("an identity's capacities go with the session in which they were asked for, and not before its requests end", () => {
  const host = makeExample();
  host.apply(identity, reserve("r1", 1, bySession));
  for (const at of [noon + day, noon + 4 * day]) {
    host.clock.now = at;
    host.apply(identity, { type: "setCapacity", at, limitNanoUsd: 5 });
  }
  assert.equal(forgetAt(host, "session", ["session1"], over + day), 0);
  host.apply(identity, settle("r1", 1));
  assert.equal(forgetAt(host, "session", ["session1"], over + day), 1);
  const left = (table: "budget" | "counter") =>
    host
      .rows(identity)
      .list(table, { limit: 9 })
      .map(({ id }) => id);
  assert.deepEqual(left("counter"), []);
  assert.deepEqual(left("budget"), [`capacity:${midnight + 3 * day}`], "that of another session's day");
});
