import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import type { Change, CounterRow, OutboxRow, ReceiptRow, Tables } from "@inference/ledger/tables";
import { prepareCommit } from "./commit.ts";
import { openDatabase } from "./database.ts";
import { openRowCache, type RowCache } from "./row-cache.ts";
import { keyChange as key } from "./testing/key-change.ts";

const folder = mkdtempSync(join(tmpdir(), "row-cache-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

type Opened = {
  database: DatabaseSync;
  cache: RowCache;
  /** Writes what is pending into the tables. */
  commit(): void;
  count(table: string): number;
};

function open(): Opened {
  const database = openDatabase(join(folder, `${++files}.sqlite`), "NORMAL");
  const cache = openRowCache(database);
  const write = prepareCommit(database);
  return {
    database,
    cache,
    commit() {
      write(cache.take());
      cache.committed();
    },
    count: (table) => Number(database.prepare(`SELECT COUNT(*) AS count FROM ${table}_row`).get()?.count),
  };
}

const counter = (id: string, settledNanoUsd: number): CounterRow => ({
  id,
  settledNanoUsd,
  heldNanoUsd: 0,
  requests: null,
  tokens: null,
  toldLimitNanoUsd: null,
});
const put = (row: CounterRow): Change => ({ table: "counter", id: row.id, row });
const outbox = (id: string, row: OutboxRow | null = { id, target: "ceiling", command: "{}" }): Change => ({
  table: "outbox",
  id,
  row,
});
const hold = (id: string, change: Partial<ReceiptRow> = {}): ReceiptRow => ({
  id,
  state: "open",
  admittedAt: 0,
  leaseUntil: 10,
  resolvedAt: null,
  heldNanoUsd: 1,
  chargeNanoUsd: 0,
  lossNanoUsd: 0,
  deliveredNanoUsd: 0,
  upstreamId: null,
  keyId: null,
  server: null,
  offer: null,
  endsAtNanoUsd: null,
  heldTokens: null,
  fingerprint: "",
  detail: "",
  ...change,
});
const receipt = hold("r1", { state: "settled", resolvedAt: 1, chargeNanoUsd: 5, heldNanoUsd: 5, detail: "{}" });
/** Behind the cache's back: shows whether a row is read from memory or from disk. */
const setOnDisk = (database: DatabaseSync, settled: number): void => {
  database.exec(`UPDATE counter_row SET settled_nano_usd = ${settled}`);
};
/** More than fit in memory at once. */
const touchMany = (cache: RowCache, prefix: string): void => {
  for (let n = 0; n < 210_000; n++) cache.partition(`account:${prefix}${n}`);
};

test("a row is seen at once, is on disk after the commit, and only then", () => {
  const { cache, commit, count } = open();
  cache.write("account:a", [put(counter("c", 1))]);
  cache.write("account:a", [put(counter("c", 2)), put(counter("d", 3))]);
  assert.equal(cache.partition("account:a").get("counter", "c")?.settledNanoUsd, 2);
  assert.equal(cache.partition("account:b").get("counter", "c"), undefined, "another partition's row is another row");
  assert.equal(cache.pendingRows(), 2, "a row that changes twice is written once");
  assert.equal(count("counter"), 0);
  commit();
  assert.equal(count("counter"), 2);
  assert.equal(cache.pendingRows(), 0);
  assert.equal(cache.partition("account:a").get("counter", "c")?.settledNanoUsd, 2);
});

test("a removed row is gone at once, and from the disk after the commit", () => {
  const { cache, commit, count } = open();
  cache.write("account:a", [put(counter("c", 1))]);
  commit();
  cache.write("account:a", [{ table: "counter", id: "c", row: null }]);
  assert.equal(cache.partition("account:a").get("counter", "c"), undefined);
  assert.equal(count("counter"), 1);
  commit();
  assert.equal(count("counter"), 0);
  assert.equal(cache.partition("account:a").get("counter", "c"), undefined);
});

test("a row written and removed before its commit is not on disk after it; one from the disk leaves it", () => {
  const { cache, commit, count } = open();
  cache.write("account:a", [outbox("x"), outbox("y")]);
  cache.write("account:a", [outbox("x", null)]);
  commit();
  assert.deepEqual(
    cache.outbox().map(({ partition, row }) => [partition, row.id]),
    [["account:a", "y"]],
  );
  cache.write("account:a", [outbox("y", null)]);
  cache.write("account:a", [outbox("y", null)]);
  commit();
  assert.equal(count("outbox"), 0);
});

test("a row left by an earlier process is removed, though it was never in memory", () => {
  const { cache, commit, database, count } = open();
  database.exec("INSERT INTO outbox_row (partition, id, target, command) VALUES ('account:a', 'x', 'ceiling', '{}')");
  cache.write("account:a", [outbox("x", null)]);
  cache.write("account:a", [outbox("x", null)]);
  commit();
  assert.equal(count("outbox"), 0);
});

test("a commit that fails leaves nothing of itself on disk, and discarding makes memory the disk again", () => {
  const { cache, commit, database, count } = open();
  cache.write("account:a", [put(counter("c", 1))]);
  commit();
  cache.write("account:a", [put(counter("c", 2)), put(counter("d", 1))]);
  database.exec("CREATE TRIGGER refuse BEFORE UPDATE ON counter_row BEGIN SELECT RAISE(ABORT, 'refused'); END");
  assert.throws(() => commit(), /refused/);
  database.exec("DROP TRIGGER refuse");
  assert.equal(count("counter"), 1);
  assert.equal(
    cache.partition("account:a").get("counter", "c")?.settledNanoUsd,
    2,
    "memory is ahead until it is discarded",
  );
  cache.discard();
  assert.equal(cache.pendingRows(), 0);
  assert.equal(cache.partition("account:a").get("counter", "c")?.settledNanoUsd, 1);
  assert.equal(cache.partition("account:a").get("counter", "d"), undefined);
  cache.write("account:a", [put(counter("d", 9))]);
  commit();
  assert.equal(count("counter"), 2, "the next commit is a commit of its own");
});

test("a row that changes while its commit is under way is in the next one too, and stays in memory until then", () => {
  const { cache, database } = open();
  const write = prepareCommit(database);
  const change = (chargeNanoUsd: number) =>
    cache.write("account:a", [{ table: "receipt", id: "r1", row: { ...receipt, chargeNanoUsd } }]);
  const rows = () => cache.partition("account:a");
  change(1);
  const first = cache.take();
  change(2);
  write(first);
  cache.committed();
  assert.equal(cache.pendingRows(), 1);
  assert.equal(rows().get("receipt", "r1")?.chargeNanoUsd, 2);
  assert.equal(rows().newest("receipt", { before: "~", limit: 9 })[0]?.chargeNanoUsd, 2);
  write(cache.take());
  cache.committed();
  database.exec("UPDATE receipt_row SET charge_nano_usd = 9");
  assert.equal(rows().get("receipt", "r1")?.chargeNanoUsd, 9, "read from the disk");
});

test("a row of an earlier process is found, also when its id is before those of this one", () => {
  const file = join(folder, "earlier.sqlite");
  const ids = ["r2", "r3"];
  for (const id of ids) {
    const database = openDatabase(file);
    const cache = openRowCache(database);
    cache.write("account:a", [{ table: "receipt", id, row: { ...receipt, id } }]);
    prepareCommit(database)(cache.take());
    cache.committed();
    for (const known of ids)
      assert.equal(cache.partition("account:a").get("receipt", known)?.id, known <= id ? known : undefined);
    database.close();
  }
});

test("a fraction, and what is no number, is not stored", () => {
  for (const bad of [0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    const { cache, commit, count } = open();
    cache.write("account:a", [put(counter("c", bad))]);
    assert.throws(() => commit(), /constraint failed|cannot store/, String(bad));
    assert.equal(count("counter"), 0);
  }
});

test("a row that is written once is in memory until its commit; a row that requests need stays", () => {
  const { cache, commit, database } = open();
  const rows = cache.partition("account:a");
  cache.write("account:a", [
    { table: "receipt", id: "r1", row: receipt },
    { table: "receipt", id: "open", row: hold("open") },
  ]);
  assert.equal(rows.get("receipt", "r1")?.chargeNanoUsd, 5);
  commit();
  database.exec("UPDATE receipt_row SET charge_nano_usd = 4");
  assert.equal(rows.get("receipt", "r1")?.chargeNanoUsd, 4, "read from the disk");
  assert.equal(rows.get("receipt", "open")?.chargeNanoUsd, 0, "kept in memory");
});

test("when memory is full, what is pending stays, and what is not is read from the disk when it is asked for", () => {
  const { cache, commit, database } = open();
  cache.write("account:kept", [put(counter("c", 1))]);
  commit();
  setOnDisk(database, 7);
  assert.equal(cache.partition("account:kept").get("counter", "c")?.settledNanoUsd, 1, "from memory");
  cache.write("account:pending", [put(counter("c", 2))]);
  for (const prefix of ["x", "y", "z"]) touchMany(cache, prefix);
  assert.equal(cache.partition("account:pending").get("counter", "c")?.settledNanoUsd, 2, "not on disk yet");
  assert.equal(cache.partition("account:kept").get("counter", "c")?.settledNanoUsd, 7, "from the disk");
  commit();
  setOnDisk(database, 8);
  assert.equal(cache.partition("account:pending").get("counter", "c")?.settledNanoUsd, 2, "from memory");
  for (const prefix of ["x", "y", "z"]) touchMany(cache, prefix);
  assert.equal(cache.partition("account:pending").get("counter", "c")?.settledNanoUsd, 8, "from the disk");
});

test("holds come oldest lease first, ended ones not at all", () => {
  const { cache, commit } = open();
  for (const [id, leaseUntil, state] of [
    ["a", 30, "open"],
    ["b", 10, "orphaned"],
    ["c", 20, "open"],
    ["d", 5, "settled"],
    ["e", 5, "released"],
  ] as const) {
    cache.write("account:a", [{ table: "receipt", id, row: hold(id, { leaseUntil, state }) }]);
  }
  commit();
  const ids = (before: number, limit: number) => cache.holds(before, limit).map(({ hold: { id } }) => id);
  assert.deepEqual(ids(31, 10), ["b", "c", "a"]);
  assert.deepEqual(ids(30, 10), ["b", "c"], "a lease lapses after its last millisecond");
  assert.deepEqual(ids(31, 1), ["b"]);
});

test("the newest rows come first, those on their way to the disk among them, those that are gone not", () => {
  const { cache, commit } = open();
  const put = (n: number, row: Tables["nonce"] | null) =>
    cache.write("account:a", [{ table: "nonce", id: `n${n}`, row }]);
  for (let n = 0; n < 6; n++) put(n, { id: `n${n}`, expiresAt: n, digest: null });
  commit();
  put(6, { id: "n6", expiresAt: 6, digest: null });
  put(3, null);
  put(2, { id: "n2", expiresAt: 22, digest: null });
  const newest = (before: string, limit: number) =>
    cache
      .partition("account:a")
      .newest("nonce", { before, limit })
      .map(({ id, expiresAt }) => `${id} ${expiresAt}`);
  assert.deepEqual(newest("~", 3), ["n6 6", "n5 5", "n4 4"]);
  assert.deepEqual(newest("n4", 3), ["n2 22", "n1 1", "n0 0"]);
  assert.deepEqual(newest("n0", 3), []);
  assert.deepEqual(cache.partition("account:b").newest("nonce", { before: "~", limit: 3 }), []);
});

test("the keys that live are listed as they are now, on disk or on their way there", () => {
  const { cache, commit } = open();
  const live = () =>
    cache
      .partition("account:a")
      .liveKeys()
      .map(({ id }) => id);
  cache.write("account:a", [key("k2", null), key("k3", null), key("k4", 1)]);
  cache.write("account:b", [key("k9", null)]);
  assert.deepEqual(live(), ["k2", "k3"]);
  commit();
  cache.write("account:a", [key("k1", null), key("k2", 5), key("k5", null), { table: "key", id: "k5", row: null }]);
  assert.deepEqual(live(), ["k1", "k3"]);
  cache.take();
  assert.deepEqual(live(), ["k1", "k3"]);
  assert.equal(cache.partition("account:a").get("key", "k2")?.revokedAt, 5);
});

test("a walk through what is overdue finds each row once, page by page, and stops at the first young receipt", () => {
  const { cache, commit } = open();
  for (let n = 0; n < 10; n++) {
    const id = `req_${n}`;
    cache.write(`account:${n % 3}`, [
      { table: "receipt", id, row: hold(id, { admittedAt: n * 10, state: "settled" }) },
    ]);
    cache.write(`account:${n % 3}`, [
      { table: "nonce", id: `n${n}`, row: { id: `n${n}`, expiresAt: 100 - n * 10, digest: null } },
    ]);
  }
  commit();
  const walk = (table: "receipt" | "nonce", before: number): { ids: string[]; pages: number } => {
    const ids: string[] = [];
    let pages = 0;
    let after: { partition: string; id: string } | null = null;
    do {
      const page = cache.overdue(table, before, { after, limit: 2 });
      ids.push(...page.rows.map(({ id }) => id));
      after = page.next;
      pages += 1;
    } while (after !== null);
    return { ids: ids.sort(), pages };
  };
  assert.deepEqual(walk("receipt", 50), { ids: ["req_0", "req_1", "req_2", "req_3", "req_4"], pages: 3 });
  assert.deepEqual(walk("receipt", 0), { ids: [], pages: 1 });
  assert.deepEqual(walk("nonce", 41).ids, ["n6", "n7", "n8", "n9"]);
});
