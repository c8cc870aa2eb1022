import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "../messages/partition.ts";
import { tableNames } from "../rows/schema.ts";
import {
  account,
  admit,
  bySession,
  chain,
  createKey,
  hear,
  identity,
  makeExample,
  makeFinal,
  midnight,
  noon,
  release,
  reserve,
  settle,
} from "../testing/example.ts";

const hours = 3_600_000;
const over = noon + 48 * hours + 1;

test("a receipt is kept for 48 h at least, one with a use until that is final, and a hold for as long as it takes", () => {
  const host = makeExample();
  for (const id of ["settled", "free", "open", "orphaned"]) admit(host, account, reserve(id, 10));
  host.apply(account, { type: "release", id: "given up", at: noon, lossNanoUsd: 0, detail: null });
  host.apply(account, settle("settled", 5));
  host.apply(account, settle("free", 0));
  host.apply(account, { type: "orphan", id: "orphaned", at: noon, graceMs: 1 });
  const ids = ["settled", "free", "open", "orphaned", "given up", "none"];
  const forget = (at: number) => {
    host.clock.now = at;
    return host.apply(account, { type: "forget", at, table: "receipt", ids }).forgotten;
  };
  assert.equal(forget(over - 1), 0);
  assert.equal(forget(over), 2);
  assert.equal(host.all("use").length, 1);
  makeFinal(host);
  assert.equal(forget(over), 1);
  assert.equal(host.all("use").length, 0);
  assert.deepEqual(
    host.all("receipt").map(({ row }) => row.id),
    ["open", "orphaned"],
  );
  assert.equal(host.apply(account, reserve("settled", 10)).status, "clock_skew", "its id is too old to come again");
  assert.equal(host.apply(account, settle("settled", 5)).status, "unknown");
});

test("final records are forgotten after their time", () => {
  const host = makeExample();
  const debit = { account: account.slice(8), beforeNanoUsd: 0, amountNanoUsd: 5, root: "r", parts: "[]", proof: "" };
  const sums = { amountNanoUsd: 5, paidAfterNanoUsd: 5, totalDebitedNanoUsd: "5" };
  const settled = { root: "c", day: "2027-06-15", ...sums, records: [debit], block: 1, transaction: "0x" };
  host.apply(chain, { type: "reread", at: noon, readyFrom: 0 });
  host.apply(chain, { type: "advance", at: noon, block: 1, blockHash: "0x", activations: [], chunks: [settled] });
  const [record] = host.all("record");
  const forget = (at: number, keepMs: number) => {
    host.clock.now = at;
    return host.apply(chain, { type: "forget", at, table: "record", ids: [record?.row.id ?? ""], keepMs }).forgotten;
  };
  const start = Date.parse("2027-06-15");
  assert.equal(forget(start + 90 * day, 90 * day), 0);
  assert.equal(forget(start + 90 * day + 1, 90 * day), 1);
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
    admit(host, account, reserve(id, 10, { payer, at }));
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
  const left = (["key", "secret", "counter"] as const).flatMap((table) =>
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
  admit(host, account, reserve("r1", 10, { payer }));
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
  admit(host, account, reserve("r1", 10, { payer, at: before }));
  admit(host, account, reserve("r2", 10, { payer, at: after }));
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
  table: "key" | "session" | "receipt",
  ids: string[],
  at: number,
) => {
  host.clock.now = at;
  return host.apply(table === "session" ? identity : account, { type: "forget", at, table, ids }).forgotten;
};
const named = (host: ReturnType<typeof makeExample>, text: string) =>
  (["key", "secret", "counter"] as const)
    .flatMap((table) => host.rows(account).list(table, { limit: 999 }))
    .filter((row) => JSON.stringify(row).includes(text));

test("a key that expired is forgotten as one that was revoked then, and makes room for another", () => {
  const host = makeExample();
  const expiresAt = noon + day;
  for (let n = 2; n <= 100; n++) {
    const id = `key${n}`;
    host.apply(account, createKey(id, { expiresAt, window: "day" }));
    admit(host, account, reserve(`r${n}`, 1, { payer: { kind: "key", digest: `digest of ${id}` } }));
    host.apply(account, settle(`r${n}`, 1));
    if (n === 7) host.apply(account, { type: "revokeKey", at: expiresAt + day, keyId: id });
  }
  const ids = host
    .rows(account)
    .list("key", { limit: 999 })
    .map(({ id }) => id);
  assert.equal(forgetAt(host, "key", ids, expiresAt + 48 * hours), 0);
  assert.equal(admit(host, account, reserve("late", 1, { payer, at: host.clock.now })).status, "unauthenticated");
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
  admit(host, account, reserve("r1", 10, { payer }));
  assert.equal(forgetAt(host, "key", ["key2"], over + 1), 0);
  host.apply(account, settle("r1", 5));
  assert.equal(forgetAt(host, "key", ["key2"], over + 1), 1);
});

test("an account that is never credited keeps its keys for a week and two days, and then has no rows", () => {
  const host = makeExample();
  const empty = accountPartition(`0x${"2".repeat(40)}`);
  const last = noon + 9 * day;
  for (let n = 0; n < 100; n++) {
    host.apply(empty, createKey(`key${n}`, { window: "day", ...(n === 5 ? { expiresAt: last } : {}) }));
  }
  host.apply(empty, hear(0));
  const free = { payer: { kind: "key", digest: "digest of key1" } } as const;
  assert.equal(admit(host, empty, reserve("free", 0, free)).status, "reserved");
  const all = () =>
    tableNames.flatMap((table) =>
      host
        .rows(empty)
        .list(table, { limit: 999 })
        .map(({ id }) => `${table} ${id}`),
    );
  const forget = (table: "key" | "nonce" | "receipt", at: number) => {
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
  const known = admit(host, empty, reserve("r1", 1, { ...free, at: host.clock.now }));
  assert.equal(known.status, "refused");
  host.apply(empty, { ...release("free"), detail: null });
  assert.equal(forget("key", last + 1), 1);
  assert.deepEqual(admit(host, empty, reserve("r1", 1, { ...free, at: host.clock.now })), {
    status: "unauthenticated",
    fault: "unknown",
  });
  forget("nonce", last + 1);
  forget("receipt", last + 1);
  assert.deepEqual(all(), []);
});

test("a key that is used for what is free, without any credit, stays while it is used", () => {
  const host = makeExample();
  const empty = accountPartition(`0x${"2".repeat(40)}`);
  host.apply(empty, createKey("key2"));
  host.apply(empty, hear(0));
  const free = { payer: { kind: "key", digest: "digest of key2" } } as const;
  let at: number = noon;
  const forget = (table: "receipt" | "key", ids: string[]) =>
    host.apply(empty, { type: "forget", at, table, ids }).forgotten;
  const used: string[] = [];
  for (let n = 0; n < 30; n++, at += day) {
    host.clock.now = at;
    forget("receipt", used);
    assert.equal(forget("key", ["key2"]), 0, `day ${n}`);
    assert.equal(admit(host, empty, reserve(`r${n}`, 0, { ...free, at })).status, "reserved");
    host.apply(empty, { ...settle(`r${n}`, 0), at });
    used.push(`r${n}`);
  }
  for (const [later, forgotten] of [
    [8 * day, 0],
    [day, 1],
  ] as const) {
    at += later;
    host.clock.now = at;
    forget("receipt", used);
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
  host.apply(late, hear(1, { at: host.clock.now }));
  const forget = (at: number) => {
    host.clock.now = at;
    return host.apply(late, { type: "forget", at, table: "key", ids: ["key2"] }).forgotten;
  };
  assert.equal(forget(noon + 9 * day + 1), 0);
  assert.equal(waits(), null);
  assert.equal(forget(noon + 4_000 * day), 0);
  assert.equal(admit(host, late, reserve("r1", 1, { payer, at: host.clock.now })).status, "reserved");
  host.apply(late, createKey("key3"));
  assert.equal(host.rows(late).get("key", "key3")?.unpaidUntil, null);
});

test("a counter of a day or a month goes with the first charge of the window after the next", () => {
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
      admit(host, account, reserve(`${keyId} ${id}`, 1, { at, payer: by(keyId) }));
      host.apply(account, { ...settle(`${keyId} ${id}`, 1), at });
    }
  };
  spend("in June", noon);
  spend("a day later", noon + day);
  const before = ["balance@0", "key:daily@2027-06-15", "key:daily@2027-06-16", "key:monthly@2027-06-01"];
  assert.deepEqual(counters(), before);
  spend("two days later", noon + 2 * day);
  assert.deepEqual(counters(), ["balance@0", "key:daily@2027-06-16", "key:daily@2027-06-17", "key:monthly@2027-06-01"]);
  spend("in December", Date.UTC(2027, 11, 3));
  assert.deepEqual(counters(), ["balance@0", "key:daily@2027-12-03", "key:monthly@2027-12-01"]);
  assert.equal(host.rows(account).get("counter", "balance@0")?.settledNanoUsd, 8);
});

test("an identity's capacities go with a session of days that are over", () => {
  const host = makeExample();
  admit(host, identity, reserve("r1", 1, bySession));
  host.apply(identity, settle("r1", 1));
  for (const at of [noon + day, noon + 4 * day]) {
    host.clock.now = at;
    host.apply(identity, { type: "setCapacity", at, limitNanoUsd: 5 });
  }
  assert.equal(forgetAt(host, "session", ["session1"], over + 2 * day), 1);
  const left = (table: "budget" | "counter") =>
    host
      .rows(identity)
      .list(table, { limit: 9 })
      .map(({ id }) => id);
  assert.deepEqual(left("counter"), []);
  assert.deepEqual(left("budget"), [`capacity:${midnight + 3 * day}`], "that of another session's day");
});
