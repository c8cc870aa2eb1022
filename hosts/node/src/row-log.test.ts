import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { serialize } from "node:v8";
import { tableSql } from "@inference/ledger/sql";
import type { CounterRow, NonceRow, Row, TableName } from "@inference/ledger/tables";
import fc from "fast-check";
import { openDatabase } from "./database.ts";
import { type EncodedRows, encodeRow } from "./encoded-rows.ts";
import { openRowLog } from "./row-log.ts";

const folder = mkdtempSync(join(tmpdir(), "row-log-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.sqlite`);

const isDeep = process.env.DEEP === "1";
/** What becomes of a row: removed, or made, or changed in one column. */
type Step = {
  table: "counter" | "nonce";
  partition: string;
  id: string;
  column: keyof CounterRow;
  value: number | null;
};
const step: fc.Arbitrary<Step> = fc.record({
  table: fc.constantFrom("counter", "counter", "nonce"),
  partition: fc.constantFrom("account:a", "account:b"),
  id: fc.constantFrom("one", "two"),
  column: fc.constantFrom("settledNanoUsd", "heldNanoUsd", "openHolds"),
  value: fc.option(fc.nat(1_000), { freq: 8 }),
});

function rowAfter({ table, id, column, value }: Step, before: Row | undefined): Row | null {
  if (value === null) return null;
  if (table === "nonce") return { id, expiresAt: value, digest: null } satisfies NonceRow;
  const made: CounterRow = { id, settledNanoUsd: 0, heldNanoUsd: 0, openHolds: 0 };
  return { ...(before ?? made), [column]: value } as CounterRow;
}

function stored(database: DatabaseSync): Map<string, Row> {
  const rows = new Map<string, Row>();
  for (const table of ["counter", "nonce"] satisfies TableName[]) {
    for (const columns of database.prepare(`SELECT * FROM ${table}_row`).all()) {
      rows.set(`${table} ${columns.partition} ${columns.id}`, tableSql[table].toRow(columns));
    }
  }
  return rows;
}

/** What whoever opens the file finds, if everything ends now. */
function foundBy(file: string): Map<string, Row> {
  const copy = newFile();
  for (const end of ["", "-wal"]) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
  const database = openDatabase(copy);
  try {
    assert.equal(database.prepare("SELECT COUNT(*) AS count FROM log").get()?.count, 0);
    return stored(database);
  } finally {
    database.close();
    rmSync(copy);
  }
}

test("whatever is appended and folded, who opens the file after any of it finds exactly what was appended", () => {
  // A commit's changes, or, as a number, so many parts of folding.
  const life = fc.array(fc.oneof(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(5)), { maxLength: 12 });
  let deaths = 0;
  fc.assert(
    fc.property(life, (moves) => {
      const file = newFile();
      const database = openDatabase(file, "NORMAL");
      const log = openRowLog(database, { rowsAtOnce: 2 });
      const model = new Map<string, Row>();
      for (const move of moves) {
        if (typeof move === "number") {
          for (let part = 0; part < move; part++) log.fold();
        } else {
          const rows: EncodedRows = [];
          for (const each of move) {
            const key = `${each.table} ${each.partition} ${each.id}`;
            const before = model.get(key);
            const row = rowAfter(each, before);
            encodeRow(rows, { ...each, stored: before, row });
            if (row === null) model.delete(key);
            else model.set(key, row);
          }
          log.append(rows);
        }
        assert.deepEqual(foundBy(file), model);
        deaths += 1;
      }
      log.foldAll();
      assert.ok(log.isEmpty);
      assert.deepEqual(stored(database), model);
      database.close();
      rmSync(file);
    }),
    { numRuns: isDeep ? 2_000 : 60, endOnFailure: true },
  );
  assert.ok(deaths > 100, `${deaths} deaths`);
});

function counters(from: number, to: number): EncodedRows {
  const rows: EncodedRows = [];
  for (let n = from; n < to; n++) {
    const row = { id: `c${n}`, settledNanoUsd: n, heldNanoUsd: 0, openHolds: 0 };
    encodeRow(rows, { partition: "account:a", table: "counter", id: row.id, stored: undefined, row });
  }
  return rows;
}

test("a fold goes in parts, what comes meanwhile is the next fold's, and a death between two parts loses nothing", () => {
  const file = newFile();
  const database = openDatabase(file, "NORMAL");
  const log = openRowLog(database);
  log.append(counters(0, 600));
  assert.equal(log.folded, 0);
  log.fold();
  assert.equal(stored(database).size, 256);
  assert.equal(foundBy(file).size, 600);
  assert.equal(log.append(counters(600, 610)), 2);
  log.fold();
  assert.deepEqual([stored(database).size, foundBy(file).size, log.folded], [512, 610, 0]);
  log.fold();
  assert.deepEqual([stored(database).size, foundBy(file).size, log.folded], [600, 610, 1]);
  assert.equal(log.isEmpty, false);
  log.fold();
  assert.deepEqual([stored(database).size, log.folded, log.isEmpty], [610, 2, true]);
  database.close();
});

test("a part of a fold that fails is done again, and an append waits for the disk as before", () => {
  const database = openDatabase(newFile(), "FULL");
  const log = openRowLog(database);
  const synchronous = () => database.prepare("PRAGMA synchronous").get()?.synchronous;
  log.append(counters(0, 3));
  database.exec("CREATE TRIGGER refuse BEFORE INSERT ON counter_row BEGIN SELECT RAISE(ABORT, 'refused'); END");
  assert.throws(() => log.fold(), /refused/);
  assert.deepEqual([stored(database).size, log.folded, synchronous()], [0, 0, 2]);
  database.exec("DROP TRIGGER refuse");
  log.foldAll();
  assert.deepEqual([stored(database).size, log.folded, synchronous()], [3, 1, 2]);
  database.close();
});

test("it says when folding is due, and when it is behind", () => {
  const database = openDatabase(newFile(), "NORMAL");
  const log = openRowLog(database);
  const many = counters(0, 20_000);
  const { byteLength } = serialize(many);
  const timesTo = (bytes: number): number => Math.ceil(bytes / byteLength);
  log.append(counters(0, 10));
  assert.deepEqual([log.isDue, log.isBehind], [false, false]);
  for (let n = 0; n < timesTo(2 * 2 ** 20); n++) log.append(many);
  assert.deepEqual([log.isDue, log.isBehind], [true, false]);
  for (let n = 0; n < timesTo(16 * 2 ** 20); n++) log.append(many);
  assert.equal(log.isBehind, true);
  log.fold();
  assert.deepEqual([log.isDue, log.isBehind], [true, false], "all of it is being folded");
  log.foldAll();
  assert.deepEqual([log.isDue, log.isBehind, log.isEmpty], [false, false, true]);
  database.close();
});

test("a log that an earlier version wrote is read, with columns that have come since left null", () => {
  const file = newFile();
  const database = openDatabase(file);
  // Tables and columns have the numbers of their places: written by hand, as they were when there was first a log.
  const rows: EncodedRows = [
    ...[1 * 3, 3, "account:a", "c", 5, 6, 7],
    ...[1 * 3 + 1, 0b101, "account:a", "c", 8, 9],
    ...[6 * 3, 1, "account:a", "gone", 1],
    ...[6 * 3 + 2, "account:a", "gone"],
    ...[8 * 3, 4, "account:a", "s", "0xaddress", null, 1, 2],
  ];
  database.prepare("INSERT INTO log VALUES (7, ?)").run(serialize(rows));
  database.close();
  const next = openDatabase(file);
  assert.deepEqual(
    { ...next.prepare("SELECT * FROM counter_row").get() },
    { partition: "account:a", id: "c", settled_nano_usd: 8, held_nano_usd: 6, open_holds: 9 },
  );
  assert.equal(next.prepare("SELECT COUNT(*) AS count FROM nonce_row").get()?.count, 0);
  assert.deepEqual(
    { ...next.prepare("SELECT address, expires_at, revoked_at FROM session_row").get() },
    { address: "0xaddress", expires_at: 2, revoked_at: null },
  );
  next.close();
});

test("a log of a later version, with a table or a column more, is refused with what to do, and left alone", () => {
  for (const rows of [
    [1 * 3, 4, "account:a", "c", 5, 6, 7, 8],
    [1 * 3 + 1, 0b1000, "account:a", "c", 8],
    [99 * 3 + 2, "account:a", "c"],
  ] satisfies EncodedRows[]) {
    const file = newFile();
    const database = openDatabase(file);
    database.prepare("INSERT INTO log VALUES (1, ?)").run(serialize(rows));
    database.close();
    assert.throws(() => openDatabase(file), /a later version wrote it. Start that one again/);
    assert.throws(() => openDatabase(file), /a later version wrote it/, "it is still there");
  }
});
