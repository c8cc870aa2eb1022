import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { columnsOf, missingStatements, SCHEMA_VERSION, STORED_SCHEMA, sqlName, tableNames } from "./schema.ts";
import { HOLDS, LIVE_KEYS } from "./sql.ts";
import type { TableName } from "./tables.ts";
import { DUE, LAPSED_HOLDS } from "./walks.ts";

type Value = string | number | null;

function open(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  for (const statement of missingStatements([])) database.exec(statement);
  return database;
}

const good: Record<string, Value> = { text: "text", amount: 0, integer: 0 };

/** One row that the schema takes, but for some of its columns. */
function insert(database: DatabaseSync, table: TableName, id: string, values: Record<string, Value> = {}): void {
  const columns = columnsOf(table);
  const all = columns.map(({ column, kind }) => values[column] ?? (column in values ? null : sample(kind)));
  const names = ["partition", "id", ...columns.map(({ column }) => column)];
  const places = names.map(() => "?").join(", ");
  database.prepare(`INSERT INTO ${sqlName(table)} (${names.join(", ")}) VALUES (${places})`).run("p", id, ...all);
}

function sample(kind: string): Value {
  const base = kind.replace("?", "");
  return good[base] ?? base.split(" ")[2] ?? null;
}

test("SQLite has the columns of every table", () => {
  const database = open();
  for (const table of tableNames) {
    const info = database.prepare(`PRAGMA table_info(${sqlName(table)})`).all();
    assert.deepEqual(
      info.map(({ name }) => name),
      ["partition", "id", ...columnsOf(table).map(({ column }) => column)],
    );
  }
});

test("a column's name is its property's in SQL's way", () => {
  const names = columnsOf("receipt").map(({ column }) => column);
  assert.deepEqual(names.slice(4, 6), ["held_nano_usd", "charge_nano_usd"]);
});

for (const table of tableNames) {
  test(`${table}: good values are stored, wrong ones are refused, column by column`, () => {
    const database = open();
    insert(database, table, "good");
    assert.throws(() => insert(database, table, "good"), /UNIQUE/);
    let number = 0;
    const refuses = (column: string, value: Value) => {
      number += 1;
      const store = () => insert(database, table, `id ${number}`, { [column]: value });
      assert.throws(store, /constraint failed|cannot store/, `${column} = ${value}`);
    };
    for (const { column, kind } of columnsOf(table)) {
      const nullable = kind.endsWith("?");
      const base = kind.replace("?", "");
      if (nullable) insert(database, table, `null in ${column}`, { [column]: null });
      else refuses(column, null);
      if (base === "amount" || base === "integer") {
        const max = base === "amount" ? MAX_NANO_USD : Number.MAX_SAFE_INTEGER;
        insert(database, table, `most in ${column}`, { [column]: max });
        // A number beyond 2^53 is bound as a float; SQLite takes NaN for NULL.
        for (const value of [0.5, 1e300, Number.POSITIVE_INFINITY, "text"]) refuses(column, value);
        if (!nullable) refuses(column, Number.NaN);
      }
    }
  });
}

test("a database gets its missing tables, columns and indexes, and keeps the others", () => {
  const database = new DatabaseSync(":memory:");
  const whole = missingStatements([]);
  const nullable = tableNames.flatMap((table) => columnsOf(table).filter(({ kind }) => kind.endsWith("?")));
  assert.ok(nullable.length > 5);
  for (const statement of whole) {
    if (/CREATE (TABLE total_row|INDEX)/.test(statement)) continue;
    const lines = statement.split("\n");
    database.exec(lines.filter((line) => /^CREATE| NOT NULL|PRIMARY KEY|^\)/.test(line)).join("\n"));
  }
  const missing = () => missingStatements(database.prepare(STORED_SCHEMA).all());
  database.exec("INSERT INTO budget_row (partition, id, window) VALUES ('p', 'before', 'day')");
  assert.equal(missing().length, nullable.length + 7);
  for (const statement of missing()) database.exec(statement);
  assert.deepEqual(missing(), []);
  for (const table of tableNames) insert(database, table, "after");
  const { limit_nano_usd: limit } = database.prepare("SELECT * FROM budget_row WHERE id = 'before'").get() ?? {};
  assert.equal(limit, null);
  assert.throws(() => insert(database, "budget", "text", { limit_nano_usd: "text" }), /cannot store/);
});

test("a column that may not be null is not added where there are rows: it takes another schema", () => {
  const database = open();
  insert(database, "total", "before");
  database.exec("ALTER TABLE total_row DROP COLUMN requests");
  const [statement = ""] = missingStatements(database.prepare(STORED_SCHEMA).all());
  assert.throws(() => database.exec(statement), /NOT NULL column/);
});

test("the words that columns take are those of version 7", () => {
  assert.equal(SCHEMA_VERSION, 7);
  const words = tableNames.flatMap((table) =>
    columnsOf(table).flatMap(({ property, kind }) =>
      kind.startsWith("one of ") ? [`${table}.${property} ${kind}`] : [],
    ),
  );
  assert.deepEqual(words, [
    "budget.window one of day month lifetime",
    "receipt.state one of open orphaned settled released",
    "key.window one of day month lifetime",
  ]);
  assert.equal(MAX_NANO_USD, 9_000_000_000_000_000);
});

for (const [name, sql, index] of [
  ["the sweeper's search", LAPSED_HOLDS, "hold"],
  ["the search for an account's holds", HOLDS, "hold"],
  ["the search for due bills", DUE.bill, "due_bill"],
  ["the search for due allowances", DUE.allowance, "due_allowance"],
  ["the search for due notices", DUE.account, "due_account"],
] as const) {
  test(`${name} uses its index`, () => {
    const plan = open()
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(
        ...sql
          .replace(/[^?]/g, "")
          .split("")
          .map(() => 1),
      );
    assert.match(JSON.stringify(plan), new RegExp(`USING (COVERING )?INDEX ${index}`));
  });
}

test("the search for the keys that live walks none that is revoked", () => {
  const plan = open().prepare(`EXPLAIN QUERY PLAN ${LIVE_KEYS}`).all("p");
  assert.match(JSON.stringify(plan), /SEARCH key_row USING INDEX live_key \(partition=\?\)/);
  assert.doesNotMatch(JSON.stringify(plan), /TEMP B-TREE/);
});
