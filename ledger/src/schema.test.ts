import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { MAX_NANO_USD } from "@inference/protocol/money";
import {
  columnsOf,
  createStatements,
  missingStatements,
  SCHEMA_VERSION,
  STORED_SCHEMA,
  sqlName,
  tableNames,
  tableSchemas,
  versionOf,
} from "./schema.ts";
import { LIVE_KEYS } from "./sql.ts";
import { holdStates, type TableName, type Tables } from "./tables.ts";

type Value = string | number | null;

function open(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  for (const statement of createStatements()) database.exec(statement);
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

/** Every column of every table: not one more or less compiles. */
const rowColumns: { [T in TableName]: Record<Exclude<keyof Tables[T], "id">, true> } = {
  budget: { window: true, limitNanoUsd: true },
  counter: { settledNanoUsd: true, heldNanoUsd: true, openHolds: true },
  hold: {
    state: true,
    owner: true,
    amountNanoUsd: true,
    chargeNanoUsd: true,
    counters: true,
    followers: true,
    admittedAt: true,
    leaseUntil: true,
    deliveredNanoUsd: true,
    upstreamId: true,
    keyId: true,
    fingerprint: true,
    detail: true,
    server: true,
    offer: true,
    ceiling: true,
  },
  key: {
    name: true,
    label: true,
    digest: true,
    window: true,
    limitNanoUsd: true,
    disabled: true,
    revokedAt: true,
    expiresAt: true,
    createdAt: true,
    nonce: true,
    unpaidUntil: true,
  },
  secret: { keyId: true },
  account: { keys: true, createdAt: true },
  nonce: { expiresAt: true, digest: true },
  claim: { requestId: true, fingerprint: true, expiresAt: true },
  session: { address: true, agentToken: true, createdAt: true, expiresAt: true, revokedAt: true },
  credit: { amountNanoUsd: true, creditedAt: true, detail: true },
  receipt: {
    admittedAt: true,
    resolvedAt: true,
    outcome: true,
    chargeNanoUsd: true,
    heldNanoUsd: true,
    lossNanoUsd: true,
    keyId: true,
    detail: true,
  },
  total: { requests: true, chargeNanoUsd: true, promptTokens: true, completionTokens: true },
  use: { account: true, chargeNanoUsd: true, admittedAt: true, server: true, batch: true, offer: true, setAside: true },
  outbox: { target: true, command: true },
  cursor: {
    block: true,
    blockHash: true,
    lastActivationId: true,
    totalActivated: true,
    lastBatchId: true,
    totalDebitedNanoUsd: true,
    foreignBatch: true,
  },
  gathering: { gatheredTo: true, batch: true, openedAt: true, firstUse: true, lastUse: true, shards: true },
  batch: {
    state: true,
    journal: true,
    openedAt: true,
    root: true,
    uses: true,
    amountNanoUsd: true,
    firstUse: true,
    lastUse: true,
    transactions: true,
    settledBy: true,
    block: true,
    settledAt: true,
    entries: true,
  },
  transaction: { hash: true, raw: true, nonce: true, maxFeePerGasWei: true, day: true, signedAt: true },
  posted: {
    origin: true,
    day: true,
    root: true,
    amountNanoUsd: true,
    paidAfterNanoUsd: true,
    totalDebitedNanoUsd: true,
    block: true,
    hash: true,
  },
  onchain: { creditNanoUsd: true },
  debit: { amountNanoUsd: true, debitedAt: true, detail: true },
  offer: {
    hash: true,
    day: true,
    shareBps: true,
    nonce: true,
    since: true,
    computer: true,
    owner: true,
    endedAt: true,
  },
  reconciliation: { at: true, closedAt: true, unexplainedNanoUsd: true, detail: true },
  block: { drawnBy: true, drawnAt: true, amountNanoUsd: true, closesAt: true, ceiling: true },
};

test("every table has the columns of its row, and SQLite has them too", () => {
  const database = open();
  assert.deepEqual(tableNames, Object.keys(rowColumns));
  for (const table of tableNames) {
    assert.deepEqual(Object.keys(tableSchemas[table].columns), Object.keys(rowColumns[table]), table);
    const info = database.prepare(`PRAGMA table_info(${sqlName(table)})`).all();
    assert.deepEqual(
      info.map(({ name }) => name),
      ["partition", "id", ...columnsOf(table).map(({ column }) => column)],
    );
  }
});

test("a column's name is its property's in SQL's way", () => {
  const names = columnsOf("hold").map(({ column }) => column);
  assert.deepEqual(names.slice(2, 4), ["amount_nano_usd", "charge_nano_usd"]);
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

test("a database without some of it is given what is missing, and keeps what it has", () => {
  const database = new DatabaseSync(":memory:");
  const whole = createStatements();
  const nullable = tableNames.flatMap((table) => columnsOf(table).filter(({ kind }) => kind.endsWith("?")));
  assert.ok(nullable.length > 5);
  for (const statement of whole) {
    if (/CREATE (TABLE total_row|INDEX (own_receipt|live_key))/.test(statement)) continue;
    const lines = statement.split("\n");
    database.exec(lines.filter((line) => /^CREATE| NOT NULL|PRIMARY KEY|^\)/.test(line)).join("\n"));
  }
  const missing = () => missingStatements(database.prepare(STORED_SCHEMA).all());
  database.exec("INSERT INTO budget_row (partition, id, window) VALUES ('p', 'before', 'day')");
  assert.equal(missing().length, nullable.length + 3);
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

test("what tables and their columns take is what version 6 takes: its tables would refuse more, after it was answered", () => {
  assert.equal(SCHEMA_VERSION, 6);
  assert.equal(Math.max(...tableNames.map(versionOf)), SCHEMA_VERSION);
  const words = tableNames.flatMap((table) =>
    columnsOf(table).flatMap(({ property, kind }) =>
      kind.startsWith("one of ") ? [`${table}.${property} ${kind}`] : [],
    ),
  );
  assert.deepEqual(words, [
    "budget.window one of day month lifetime",
    "hold.state one of open orphaned settled released refused",
    "key.window one of day month lifetime",
    "batch.state one of open built signed settled rejected",
    "posted.origin one of ours foreign accepted",
  ]);
  assert.equal(MAX_NANO_USD, 9_000_000_000_000_000);
  assert.equal(tableNames.length, 24);
});

test("every state a hold can have is stored", () => {
  const database = open();
  for (const state of holdStates) insert(database, "hold", state, { state });
});

test("the sweeper's search uses the index of unresolved holds", () => {
  const sql = "SELECT * FROM hold_row WHERE state IN ('open', 'orphaned') AND lease_until < ? ORDER BY lease_until";
  const plan = open().prepare(`EXPLAIN QUERY PLAN ${sql}`).all(1);
  assert.match(JSON.stringify(plan), /unresolved_hold/);
});

test("the search for the keys that live walks none that is revoked", () => {
  const plan = open().prepare(`EXPLAIN QUERY PLAN ${LIVE_KEYS}`).all("p");
  assert.match(JSON.stringify(plan), /SEARCH key_row USING INDEX live_key \(partition=\?\)/);
  assert.doesNotMatch(JSON.stringify(plan), /TEMP B-TREE/);
});
