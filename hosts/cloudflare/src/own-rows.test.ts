import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change, ReceiptRow, TableName } from "@inference/ledger/tables";
import { openOwnRows } from "./own-rows.ts";
import { OBJECT_VERSION } from "./row-log.ts";
import { readSegment } from "./row-segments.ts";
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

/** How often each table of SQLite was written, by a row each. */
function writes({ statements }: NodeStorage): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const statement of statements) {
    const table = /(?:INSERT INTO|DELETE FROM|UPDATE) (\w+)/.exec(statement)?.[1];
    if (table !== undefined) counts[table] = (counts[table] ?? 0) + 1;
  }
  return counts;
}

/** The number of a table's rows; 0 without the table. */
function rowsOf({ database }: NodeStorage, table: string): number {
  const has = database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined;
  return has ? Number(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows) : 0;
}

/** The ids of each segment of a kind. */
function idsIn(storage: NodeStorage, kind: string): string[][] {
  if (!tablesOf(storage).includes("segment")) return [];
  const segments = storage.database.prepare("SELECT rows FROM segment WHERE kind = ? ORDER BY start").all(kind);
  return segments.map((segment) => [...readSegment(segment.rows).keys()]);
}

function tablesOf({ database }: NodeStorage): string[] {
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  return tables.map(({ name }) => String(name));
}

test("an object that was only asked has nothing, and segments come with the first fold", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 2, characters: 100_000 });
  const own = rows.of(partition);
  assert.equal(own.get("budget", "balance"), undefined);
  assert.deepEqual([...own.list("receipt", { limit: 1 }), ...own.liveKeys(), ...own.holds()], []);
  assert.deepEqual([rows.firstLook(), rows.firstKept("receipt"), rows.isEmpty()], [undefined, undefined, true]);
  assert.deepEqual(tablesOf(storage), []);
  for (let n = 0; n < 2; n += 1) commit(rows, put("receipt", `req_${n}`));
  assert.deepEqual(tablesOf(storage), ["log"]);
  commit(rows, put("receipt", "req_2"));
  assert.deepEqual(tablesOf(storage), ["log", "segment"]);
});

test("to open an object writes nothing, whatever is in it", () => {
  const storage = openNodeStorage();
  const bounds = { slots: 2, characters: 1_000 };
  const rows = openOwnRows(storage, bounds);
  for (let n = 0; n < 9; n += 1) commit(rows, put("receipt", `req_${n}`), put("outbox", `${n}>ceiling`));
  storage.statements.length = 0;
  const woken = openOwnRows(storage, bounds);
  assert.deepEqual([woken.undelivered(), woken.of(partition).list("receipt", { limit: 10 }).length], [9, 9]);
  assert.deepEqual(
    storage.statements.filter((statement) => !statement.startsWith("SELECT")),
    [],
  );
});

test("an object whose rows are all gone is empty, in its log or in its segments", () => {
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
  const rows = openOwnRows(storage, { slots: 128, characters: 100_000 });
  for (let n = 0; n < 3; n += 1) commit(rows, put("total", "day", { requests: n }));
  rows.shorten();
  assert.equal(rowsOf(storage, "log"), 3);
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

test("a commit is one row of the log, whatever it changed, and a fold writes each kind's rows together", () => {
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
  assert.deepEqual(writes(storage), { log: 11, segment: 2 });
  assert.deepEqual([idsIn(storage, "counter"), idsIn(storage, "receipt").flat().length], [[["balance@0"]], 10]);
  assert.equal(rowsOf(storage, "log"), 10);
});

test("a row that came and went while the log had it costs nothing, and its return only what it writes", () => {
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

  // Its kind's one segment, with the one of the budget.
  commit(rows, put("told", "account"));
  for (let n = 0; n < 3; n += 1) commit(rows, put("budget", "balance"));
  assert.deepEqual(idsIn(storage, "told"), [["account"]]);
  for (let n = 0; n < 4; n += 1) commit(rows, gone("told", "account"));
  assert.deepEqual(idsIn(storage, "told"), []);
  assert.equal(openOwnRows(storage).of(partition).get("told", "account"), undefined);
});

test("open rows stay in the log when it is folded, unless they are many, and are found again either way", () => {
  const open = { state: "open" };
  const storage = openNodeStorage();
  const bounds = { slots: 3, characters: 4_000 };
  const rows = openOwnRows(storage, bounds);
  for (let n = 0; n < 8; n += 1) commit(rows, put("receipt", `req_${n}`, open), put("bill", "bill", { dueAt: n }));
  const spilled = idsIn(storage, "open receipt").flat().length;
  assert.ok(spilled > 0 && spilled < 8, `${spilled} of eight have left a log of 4,000 characters`);
  for (const one of [rows, openOwnRows(storage, bounds)]) {
    assert.equal(one.lapsedHolds(Number.MAX_SAFE_INTEGER, 100).length, 8);
    assert.deepEqual([one.of(partition).holds().length, one.dueAt("bill")], [8, 7]);
  }
  for (let n = 0; n < 8; n += 1) commit(rows, put("receipt", `req_${n}`), put("bill", "bill", { dueAt: null }));
  for (let n = 0; n < 4; n += 1) commit(rows, put("budget", "balance"));
  assert.deepEqual([idsIn(storage, "open receipt"), idsIn(storage, "open bill")], [[], []]);
  for (const one of [rows, openOwnRows(storage, bounds)]) {
    assert.deepEqual([one.of(partition).holds(), one.dueAt("bill"), one.firstLook()], [[], undefined, undefined]);
    assert.equal(one.of(partition).list("receipt", { limit: 10 }).length, 8);
  }

  const roomy = openNodeStorage();
  const others = openOwnRows(roomy, { slots: 3, characters: 100_000 });
  for (let n = 0; n < 8; n += 1) commit(others, put("receipt", `req_${n}`, open));
  assert.deepEqual([idsIn(roomy, "open receipt"), idsIn(roomy, "receipt")], [[], []]);
});

test("deliveries that could not be made for long are written once, and not again with each fold", () => {
  const storage = openNodeStorage();
  const rows = openOwnRows(storage, { slots: 2, characters: 4_000 });
  for (let n = 100; n < 140; n += 1) commit(rows, put("outbox", `${n}>ceiling`));
  storage.statements.length = 0;
  for (let n = 0; n < 12; n += 1) commit(rows, put("budget", "balance"));
  // The first fold moves the last deliveries out of the log.
  const inAll = idsIn(storage, "open outbox").length;
  assert.ok(inAll >= 8 && (writes(storage).segment ?? 0) < inAll, `${writes(storage).segment} of ${inAll}`);
  assert.equal(openOwnRows(storage).undelivered(), 40);
});

test("more than a row of the log may have goes into segments at once", () => {
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

test("an object with rows of a version that may not be ignored is refused and left as it is", () => {
  const storage = openNodeStorage();
  commit(openOwnRows(storage), put("budget", "balance"));
  storage.database.exec(`UPDATE log SET version = ${OBJECT_VERSION + 1}`);
  storage.statements.length = 0;
  assert.throws(() => openOwnRows(storage), /rows of version 3, and this gateway reads version 2/);
  assert.deepEqual(writes(storage), {});
});

/** As from a release that knows more. */
const later = { table: "gift", id: "g1", row: { id: "g1", to: "somebody" } } as unknown as Change;

for (const bounds of [
  { slots: 1, characters: 100_000 },
  { slots: 1, characters: 0 },
  { slots: 100, characters: 100_000 },
]) {
  const where = bounds.slots > 1 ? "the log" : bounds.characters > 0 ? "segments" : "segments of open rows";
  test(`what only a later version knows passes through ${where}: kinds of rows, and properties`, () => {
    const storage = openNodeStorage();
    const own = () => openOwnRows(storage, bounds);
    commit(
      own(),
      later,
      put("total", "day", { cachedTokens: 7 }),
      put("total", "week"),
      put("use", "req_1", { more: 8 }),
    );
    for (let n = 0; n < 3; n += 1) commit(own(), put("budget", "balance"));
    // Written by this version, which does not name the property.
    const { cachedTokens, ...row } = own().of(partition).get("total", "day") as object as { cachedTokens: number };
    commit(own(), { table: "total", id: "day", row: { ...row, requests: 5 } } as unknown as Change);
    for (let n = 0; n < 3; n += 1) commit(own(), put("budget", "balance"));
    own().shorten();
    const rows = own().of(partition) as { get(table: string, id: string): unknown };
    const found = rows.get("total", "day") as { requests: number; cachedTokens: number };
    assert.deepEqual([cachedTokens, found.requests, found.cachedTokens], [7, 5, 7]);
    assert.equal((rows.get("use", "req_1") as { more: number }).more, 8);
    assert.deepEqual(rows.get("gift", "g1"), later.row);
    assert.equal(own().isEmpty(), false);
  });
}

test("receipts that left the log take an eighth of their text, and those of an earlier release are read as they are", () => {
  const storage = openNodeStorage();
  const own = () => openOwnRows(storage, { slots: 1, characters: 100_000 });
  for (let n = 10; n < 60; n += 1) commit(own(), put("receipt", `req_${n}`));
  const text = JSON.stringify(own().of(partition).list("receipt", { limit: 99 }));
  const [stored] = storage.database.prepare("SELECT rows FROM segment WHERE kind = 'receipt'").all();
  assert.ok(String(stored?.rows).length < text.length / 8, `${String(stored?.rows).length} of ${text.length}`);
  const [names, rows] = [
    ["id", "state"],
    ["req_10", "released"],
  ];
  storage.database.prepare("UPDATE segment SET rows = ? WHERE kind = 'receipt'").run(JSON.stringify([names, rows]));
  assert.equal(own().of(partition).get("receipt", "req_10")?.state, "released");
});

test("an earlier release refuses an object once anything in it is compressed, and not before", () => {
  const version = ({ database }: NodeStorage) => database.prepare("SELECT max(version) AS v FROM log").get()?.v;
  const bounds = { slots: 4, characters: 100_000 };
  const storage = openNodeStorage();
  for (let n = 0; n < 4; n += 1) commit(openOwnRows(storage, bounds), put("receipt", `req_${n}`));
  assert.equal(version(storage), 1, "a log of text");
  // Its fold compresses receipts, and the commit that causes it has none.
  commit(openOwnRows(storage, bounds), put("budget", "balance"));
  assert.match(String(storage.database.prepare("SELECT rows FROM segment WHERE kind = 'receipt'").get()?.rows), /^z/);
  const first = storage.database.prepare("SELECT version FROM log WHERE slot = 1").get()?.version;
  assert.equal(first, 2);
  const idle = openNodeStorage();
  for (let n = 0; n < 4; n += 1) commit(openOwnRows(idle, bounds), put("budget", "balance"));
  assert.equal(version(idle), 1);
  openOwnRows(idle, bounds).shorten();
  commit(openOwnRows(idle, bounds), put("budget", "balance"));
  assert.equal(version(idle), 2);
});

test("a compressed log counts the characters of its text, so a waking object parses no more than another", () => {
  const storage = openNodeStorage();
  const bounds = { slots: 128, characters: 10_000 };
  for (let n = 10; n < 70; n += 1) {
    const rows = openOwnRows(storage, bounds);
    for (const part of ["a", "b", "c", "d"]) commit(rows, put("receipt", `req_${n}${part}`));
    rows.shorten();
    assert.ok(openOwnRows(storage, bounds).nextFold().changes.length <= bounds.characters);
  }
});

test("a damaged segment is an error or has the same rows, and no other figures", () => {
  const storage = openNodeStorage();
  const own = () => openOwnRows(storage, { slots: 1, characters: 100_000 });
  for (let n = 10; n < 30; n += 1) commit(own(), put("receipt", `req_${n}`));
  const text = String(storage.database.prepare("SELECT rows FROM segment WHERE kind = 'receipt'").get()?.rows);
  const write = storage.database.prepare("UPDATE segment SET rows = ? WHERE kind = 'receipt'");
  const rows = () => own().of(partition).list("receipt", { limit: 99 });
  const before = rows();
  let errors = 0;
  for (let at = 1; at < text.length; at += 1) {
    write.run(text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1));
    try {
      assert.deepEqual(rows(), before, `at ${at}`);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      errors += 1;
    }
  }
  assert.ok(errors > text.length * 0.9);
  write.run(text.slice(0, -8));
  assert.throws(rows);
});

test("a property that an earlier version did not know is null", () => {
  for (const bounds of [
    { slots: 100, characters: 100_000 },
    { slots: 1, characters: 100_000 },
  ]) {
    const storage = openNodeStorage();
    const { upstreamId, ...row } = exampleRow("receipt", "req_1", 1) as ReceiptRow;
    commit(openOwnRows(storage, bounds), { table: "receipt", id: "req_1", row: { ...row, state: "settled" } as never });
    commit(openOwnRows(storage, bounds), put("budget", "balance"));
    assert.equal(openOwnRows(storage, bounds).of(partition).get("receipt", "req_1")?.upstreamId, null);
  }
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
