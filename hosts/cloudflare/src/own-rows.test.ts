import assert from "node:assert/strict";
import { test } from "node:test";
import { createStatements } from "@inference/ledger/schema";
import type { Change, ReceiptRow, TableName } from "@inference/ledger/tables";
import { openOwnRows } from "./own-rows.ts";
import { OBJECT_VERSION } from "./own-schema.ts";
import { exampleRow } from "./testing/example-rows.ts";
import { type NodeStorage, openNodeStorage } from "./testing/node-storage.ts";

const partition = "account:0x00000000000000000000000000000000000000aa";

function put(table: TableName, id: string, properties: object = {}): Change {
  const over = table === "receipt" ? { state: "settled" } : {};
  return { table, id, row: { ...exampleRow(table, id, 1), ...over, ...properties } } as Change;
}

function gone(table: TableName, id: string): Change {
  return { table, id, row: null } as Change;
}

function commit(rows: ReturnType<typeof openOwnRows>, ...changes: Change[]): void {
  rows.write(partition, changes);
  rows.commit();
}

/** How often each table was written, by a row each. */
function writes({ statements }: NodeStorage): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const statement of statements) {
    const table = /(?:INSERT INTO|DELETE FROM|UPDATE) (?!schema)(\w+)/.exec(statement)?.[1];
    if (table !== undefined) counts[table] = (counts[table] ?? 0) + 1;
  }
  return counts;
}

/** The number of a table's rows; 0 without the table. */
function rowsOf({ database }: NodeStorage, table: string): number {
  const has = database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined;
  return has ? Number(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows) : 0;
}

/** The ids of each segment of a table. */
function idsIn({ database }: NodeStorage, table: TableName): string[][] {
  const segments = database.prepare("SELECT rows FROM segment WHERE name = ? ORDER BY start").all(table);
  return segments.map((segment) => {
    const [names = [], ...rows] = JSON.parse(String(segment.rows)) as [string[], ...unknown[][]];
    return rows.map((row) => String(row[names.indexOf("id")]));
  });
}

function tablesOf({ database }: NodeStorage): string[] {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  return tables.map(({ name }) => String(name));
}

test("an object has the tables that its rows need, and one that was only asked has none", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 2, characters: 100_000 });
  const own = rows.of(partition);
  assert.equal(own.get("budget", "balance"), undefined);
  assert.deepEqual([...own.list("receipt", { limit: 1 }), ...own.liveKeys(), ...own.holds()], []);
  assert.deepEqual([rows.firstLease(), rows.firstKept("receipt"), rows.isEmpty()], [undefined, undefined, true]);
  assert.deepEqual(tablesOf(storage), []);
  for (let n = 0; n < 2; n += 1) commit(rows, put("receipt", `req_${n}`));
  assert.deepEqual(tablesOf(storage), ["log", "schema"]);
  commit(rows, put("receipt", "req_2"));
  assert.deepEqual(tablesOf(storage), ["log", "schema", "segment"]);
  for (let n = 0; n < 3; n += 1) commit(rows, put("budget", "balance"));
  assert.deepEqual(tablesOf(storage), ["budget_row", "log", "schema", "segment"]);
});

test("an object whose rows are all gone is empty, in its log or in its tables", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 2, characters: 100_000 });
  for (let n = 0; n < 3; n += 1) commit(rows, put("receipt", `req_${n}`), put("nonce", "nonce"));
  for (let n = 0; n < 3; n += 1) {
    assert.equal(rows.isEmpty(), false);
    commit(rows, gone("receipt", `req_${n}`), gone("nonce", "nonce"));
  }
  for (const one of [rows, openOwnRows(storage)]) assert.equal(one.isEmpty(), true);
});

test("a long log is rewritten as one row, and a short one stays", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 64, characters: 100_000 });
  for (let n = 0; n < 7; n += 1) commit(rows, put("total", "day", { requests: n }));
  rows.shorten();
  assert.equal(rowsOf(storage, "log"), 7);
  commit(rows, put("total", "day", { requests: 7 }), put("outbox", "1>ceiling"));
  for (const one of [rows, openOwnRows(storage)]) {
    one.shorten();
    assert.equal(rowsOf(storage, "log"), 1);
    assert.equal(openOwnRows(storage).of(partition).get("total", "day")?.requests, 7);
    assert.equal(openOwnRows(storage).undelivered(), 1);
  }
  commit(rows, put("total", "day", { requests: 8 }));
  assert.equal(openOwnRows(storage).of(partition).get("total", "day")?.requests, 8);
});

test("a commit is one row of the log, whatever it changed, and a row that changed often is written into its table once", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 10, characters: 100_000 });
  storage.statements.length = 0;
  for (let n = 0; n < 10; n += 1) {
    commit(rows, put("counter", "balance@0", { settledNanoUsd: n }), put("receipt", `req_${n}`));
  }
  assert.deepEqual(writes(storage), { log: 10 });
  const logged = storage.database.prepare("SELECT changes FROM log").all();
  for (const { changes } of logged) assert.equal((JSON.parse(String(changes)) as Change[]).length, 2);
  commit(rows, put("counter", "balance@0", { settledNanoUsd: 10 }));
  assert.deepEqual(writes(storage), { log: 11, counter_row: 1, segment: 1 });
  assert.equal(rowsOf(storage, "log"), 10);
});

test("a row that came and went while the log had it costs its table nothing, and its return only what it writes", () => {
  const storage = openNodeStorage();
  // A fold with each commit in which the row is gone.
  const rows = openOwnRows(storage, { slots: 2, characters: 100_000 });
  const told = () => rows.of(partition).get("told", "account");
  storage.statements.length = 0;
  commit(rows, put("outbox", "0>ceiling"));
  rows.acknowledge(["0>ceiling"]);
  for (let n = 1; n <= 10; n += 1) {
    assert.equal(told(), undefined);
    commit(rows, put("told", "account"), put("outbox", `${n}>ceiling`));
    rows.acknowledge([`${n}>ceiling`]);
    commit(rows, gone("told", "account"));
  }
  assert.deepEqual(writes(storage), { log: 21 });
  assert.equal(storage.statements.filter((statement) => statement.startsWith("SELECT")).length, 0);

  commit(rows, put("told", "account"));
  for (let n = 0; n < 3; n += 1) commit(rows, put("budget", "balance"));
  assert.equal(writes(storage).told_row, 1);
  for (let n = 0; n < 4; n += 1) commit(rows, gone("told", "account"));
  assert.equal(writes(storage).told_row, 2);
  assert.equal(openOwnRows(storage).of(partition).get("told", "account"), undefined);
});

test("holds that are open stay in the log when it is folded, unless they are many", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 3, characters: 4_000 });
  const open = { state: "open" };
  for (let n = 0; n < 8; n += 1) commit(rows, put("receipt", `req_${n}`, open), put("budget", "balance"));
  assert.equal(rowsOf(storage, "budget_row"), 1);
  const before = rowsOf(storage, "receipt_row");
  const [first] = rows.lapsedHolds(Number.MAX_SAFE_INTEGER, 100);
  assert.equal(first?.partition, partition);
  assert.equal(openOwnRows(storage).lapsedHolds(Number.MAX_SAFE_INTEGER, 100).length, 8);
  assert.ok(before > 0 && before < 8, `${before} of eight have left a log of 4,000 characters`);

  const roomy = openNodeStorage();
  const others = openOwnRows(roomy, { slots: 3, characters: 100_000 });
  for (let n = 0; n < 8; n += 1) commit(others, put("receipt", `req_${n}`, open));
  assert.equal(rowsOf(roomy, "receipt_row"), 0);
  for (let n = 0; n < 8; n += 1) commit(others, put("receipt", `req_${n}`, { state: "settled" }));
  for (let n = 0; n < 3; n += 1) commit(others, put("budget", "balance"));
  assert.deepEqual([rowsOf(roomy, "receipt_row"), rowsOf(roomy, "segment")], [0, 1]);
});

test("more than a row of the log may have goes into the tables at once", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage);
  const detail = "x".repeat(100_000);
  const receipts = Array.from({ length: 30 }, (_, n) => put("receipt", `req_${n}`, { detail }));
  commit(rows, ...receipts);
  const { characters } = storage.database.prepare("SELECT max(length(changes)) AS characters FROM log").get() ?? {};
  assert.ok(Number(characters) < 100, `${characters}`);
  const found = openOwnRows(storage).of(partition).get("receipt", "req_29") as ReceiptRow | undefined;
  assert.equal(found?.detail, detail);
});

test("a fold that fails fails its commit, keeps all that was committed before, and is tried again with the next one", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 3, characters: 100_000 });
  for (let n = 0; n < 3; n += 1) commit(rows, put("receipt", `req_${n}`), put("total", "day", { requests: n }));
  for (let after = 0; after < 5; after += 1) {
    storage.failAfter(after);
    assert.throws(() => commit(rows, put("receipt", "req_3"), put("total", "day", { requests: 3 })), /disk full/);
    storage.failAfter(Number.POSITIVE_INFINITY);
    for (const one of [rows, openOwnRows(storage)]) {
      const own = one.of(partition);
      assert.equal(own.list("receipt", { limit: 10 }).length, 3);
      assert.equal(own.get("total", "day")?.requests, 2);
      assert.equal(own.get("receipt", "req_3"), undefined);
    }
    assert.equal(rowsOf(storage, "segment"), 0);
  }
  commit(rows, put("receipt", "req_3"), put("total", "day", { requests: 3 }));
  assert.deepEqual(idsIn(storage, "receipt"), [["req_0", "req_1", "req_2", "req_3"]]);
});

/** Tables alone, with all their indexes, as another release of this version may have left them. */
function openOtherVersion(): NodeStorage {
  const storage = openNodeStorage();
  for (const statement of createStatements()) storage.database.exec(statement);
  storage.database.exec("CREATE TABLE schema (version INTEGER NOT NULL) STRICT");
  storage.database.exec(`INSERT INTO schema VALUES (${OBJECT_VERSION})`);
  return storage;
}

test("an object of another version is refused and left as it is", () => {
  for (const version of [0, OBJECT_VERSION - 1, OBJECT_VERSION + 1]) {
    const storage = openOtherVersion();
    storage.database.exec(`UPDATE schema SET version = ${version}`);
    assert.throws(() => openOwnRows(storage), /This object has schema/);
    assert.equal(storage.database.prepare("SELECT name FROM sqlite_master WHERE name = 'log'").get(), undefined);
  }
});

test("a property that a row of the log does not name keeps its value, or is null", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 3, characters: 100_000 });
  const named = { state: "settled", upstreamId: "in its segment" };
  commit(rows, put("receipt", "req_1", named));
  for (let n = 0; n < 3; n += 1) commit(rows, put("budget", "balance"));
  assert.deepEqual(idsIn(storage, "receipt"), [["req_1"]]);
  for (const id of ["req_1", "req_2"]) {
    const { upstreamId, ...row } = exampleRow("receipt", id, 1) as ReceiptRow;
    commit(rows, { table: "receipt", id, row: { ...row, state: "released" } as ReceiptRow });
  }
  const own = openOwnRows(storage).of(partition);
  const found = ["req_1", "req_2"].map((id) => own.get("receipt", id));
  assert.deepEqual(
    found.map((hold) => [hold?.state, hold?.upstreamId]),
    [
      ["released", "in its segment"],
      ["released", null],
    ],
  );
});

test("a column that only a later version knows is kept in memory, log and table by one that does not", () => {
  const storage = openOtherVersion();
  storage.database.exec("ALTER TABLE total_row ADD COLUMN cached_tokens INTEGER");
  const later = openOwnRows(storage, { slots: 3, characters: 100_000 });
  commit(later, put("total", "day", { cachedTokens: 7 }));
  const rows = openOwnRows(storage, { slots: 3, characters: 100_000 });
  const { requests } = rows.of(partition).get("total", "day") ?? {};
  for (let n = 0; n < 5; n += 1) commit(rows, put("total", "day", { requests: Number(requests) + n }));
  const stored = storage.database.prepare("SELECT requests, cached_tokens FROM total_row").get();
  assert.deepEqual({ ...stored }, { requests: Number(requests) + 2, cached_tokens: 7 });
});

test("a column that only a later version knows is kept where this version creates the table", () => {
  const storage = openNodeStorage();
  commit(openOwnRows(storage), put("total", "day", { cachedTokens: 7 }));
  const rows = openOwnRows(storage, { slots: 1, characters: 0 });
  commit(rows, put("total", "day", { requests: 2 }), put("total", "week", { cachedTokens: 8 }));
  const stored = storage.database.prepare("SELECT id, requests, cached_tokens FROM total_row").all();
  assert.deepEqual(
    stored.map(({ id, requests, cached_tokens }) => [id, requests === 2, cached_tokens]),
    [
      ["day", true, 7],
      ["week", false, 8],
    ],
  );
});

test("a column of a segment that only a later version knows is kept by one that does not", () => {
  const storage = openNodeStorage();
  const bounds = { slots: 1, characters: 100_000 };
  const later = openOwnRows(storage, bounds);
  commit(later, put("use", "req_1", { later: 7 }), put("use", "req_2"));
  commit(later, put("budget", "balance"));
  commit(openOwnRows(storage, bounds), put("use", "req_1", { costNanoUsd: 5 }));
  commit(openOwnRows(storage, bounds), put("use", "req_0"));
  const segments = storage.database.prepare("SELECT rows FROM segment").all();
  const [names = [], ...rows] = JSON.parse(String(segments[0]?.rows)) as [string[], ...unknown[][]];
  const values = rows.map((row) => ["id", "cost_nano_usd", "later"].map((name) => row[names.indexOf(name)]));
  assert.deepEqual(values, [
    ["req_0", values[0]?.[1], null],
    ["req_1", 5, 7],
    ["req_2", values[2]?.[1], null],
  ]);
});

test("a row that comes late goes into the segment of its id, and a segment without rows is gone", () => {
  const storage = openNodeStorage();
  // A fold with each commit, and two rows fill a segment.
  const rows = openOwnRows(storage, { slots: 0, characters: 400 });
  const name = (n: number) => `req_${n}`;
  for (const n of [0, 2, 4, 6, 8]) commit(rows, put("use", name(n)));
  assert.deepEqual(idsIn(storage, "use"), [["req_0", "req_2"], ["req_4", "req_6"], ["req_8"]]);
  storage.statements.length = 0;
  commit(rows, put("use", name(3)));
  assert.deepEqual(writes(storage), { segment: 2, log: 1 });
  assert.deepEqual(idsIn(storage, "use"), [["req_0", "req_2"], ["req_3"], ["req_4", "req_6"], ["req_8"]]);
  storage.statements.length = 0;
  commit(rows, gone("use", name(0)), gone("use", name(2)), gone("use", name(4)));
  assert.deepEqual(writes(storage), { segment: 2, log: 1 });
  assert.deepEqual(idsIn(storage, "use"), [["req_3"], ["req_6"], ["req_8"]]);
  commit(rows, put("use", "req_1"));
  assert.deepEqual(idsIn(storage, "use")[0], ["req_1"]);
  commit(rows, ...["req_1", "req_3", "req_6", "req_8"].map((id) => gone("use", id)));
  assert.deepEqual([idsIn(storage, "use"), rows.isEmpty(), openOwnRows(storage).isEmpty()], [[], true, true]);
});

test("an object whose rows are all in segments, and whose log was dropped, still knows whose they are", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 1, characters: 100_000 });
  for (const n of [1, 2, 3]) commit(rows, put("receipt", `req_${n}`));
  openOwnRows(storage, { slots: 0, characters: 0 }).shorten();
  const woken = openOwnRows(storage);
  const found = woken.overdue("receipt", Number.MAX_SAFE_INTEGER, { after: null, limit: 10 });
  assert.deepEqual(
    found.rows.map((row) => [row.partition, row.id]),
    [1, 2, 3].map((n) => [partition, `req_${n}`]),
  );
});

test("an object is one partition, and refuses to be another", () => {
  const storage = openNodeStorage();
  commit(openOwnRows(storage), put("budget", "balance"));
  assert.throws(() => openOwnRows(storage).of("ceiling"), /those of account:.*, and not of ceiling/);
});
