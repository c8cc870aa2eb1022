import { MAX_NANO_USD } from "@inference/protocol/money";
import { windows } from "@inference/protocol/window";
import { holdStates, type TableName, type Tables } from "./tables.ts";

/**
 * The one SQLite schema, for both hosts. Every table is STRICT and every number is checked where it is stored: SQLite
 * by itself takes NaN as NULL, a fraction in an INTEGER column of a lax table, and amounts past 2^53.
 *
 * `clustered` says what a table's rows lie next to: `time` for rows that are written once under a time-ordered id (a
 * commit then touches the last pages only, however many accounts there are), `partition` for rows that are updated.
 */
type ColumnKind = "text" | "amount" | "integer" | `one of ${string}`;
type Column = ColumnKind | `${ColumnKind}?`;

export type TableSchema<T extends TableName> = {
  clustered: "time" | "partition";
  columns: { [C in Exclude<keyof Tables[T], "id">]: Column };
};

const windowColumn: Column = `one of ${windows.join(" ")}`;

export const tableSchemas: { [T in TableName]: TableSchema<T> } = {
  budget: { clustered: "partition", columns: { window: windowColumn, limitNanoUsd: "amount?" } },
  counter: {
    clustered: "partition",
    columns: { settledNanoUsd: "amount", heldNanoUsd: "amount", openHolds: "integer" },
  },
  hold: {
    clustered: "time",
    columns: {
      state: `one of ${holdStates.join(" ")}`,
      owner: "text",
      amountNanoUsd: "amount",
      chargeNanoUsd: "amount",
      counters: "text",
      followers: "text",
      admittedAt: "integer",
      leaseUntil: "integer",
      deliveredNanoUsd: "amount",
      upstreamId: "text?",
      keyId: "text?",
      fingerprint: "text",
      detail: "text",
    },
  },
  key: {
    clustered: "partition",
    columns: {
      name: "text",
      label: "text",
      digest: "text",
      window: windowColumn,
      limitNanoUsd: "amount?",
      disabled: "integer",
      revokedAt: "integer?",
      expiresAt: "integer?",
      createdAt: "integer",
      nonce: "text",
    },
  },
  secret: { clustered: "partition", columns: { keyId: "text" } },
  account: { clustered: "partition", columns: { keys: "integer", createdAt: "integer" } },
  nonce: { clustered: "partition", columns: { expiresAt: "integer" } },
  claim: { clustered: "partition", columns: { requestId: "text", fingerprint: "text", expiresAt: "integer" } },
  session: {
    clustered: "partition",
    columns: {
      address: "text",
      agentToken: "text?",
      createdAt: "integer",
      expiresAt: "integer",
      revokedAt: "integer?",
    },
  },
  credit: { clustered: "partition", columns: { amountNanoUsd: "amount", creditedAt: "integer", detail: "text" } },
  receipt: {
    clustered: "time",
    columns: {
      admittedAt: "integer",
      resolvedAt: "integer",
      outcome: "text",
      chargeNanoUsd: "amount",
      heldNanoUsd: "amount",
      lossNanoUsd: "amount",
      keyId: "text?",
      detail: "text",
    },
  },
  total: {
    clustered: "partition",
    columns: {
      requests: "integer",
      chargeNanoUsd: "amount",
      promptTokens: "integer",
      completionTokens: "integer",
    },
  },
  use: {
    clustered: "time",
    columns: { account: "text", chargeNanoUsd: "amount", admittedAt: "integer", server: "text" },
  },
  outbox: { clustered: "partition", columns: { target: "text", command: "text" } },
  cursor: {
    clustered: "partition",
    columns: { block: "integer", blockHash: "text", lastActivationId: "integer", totalActivated: "text" },
  },
};

export const tableNames = Object.keys(tableSchemas) as TableName[];
/** Those whose ids are ids of requests. */
export const timeOrderedTables = tableNames.filter((table) => tableSchemas[table].clustered === "time");

/** The version of the schema below, kept in `PRAGMA user_version`. */
export const SCHEMA_VERSION = 1;

/** `CREATE TABLE` and `CREATE INDEX` statements for an empty database. */
export function createStatements(): string[] {
  const statements = tableNames.map((table) => {
    const columns = columnsOf(table).map(({ column, kind }) => `  ${columnSql(column, kind)}`);
    const order = tableSchemas[table].clustered === "time" ? "id, partition" : "partition, id";
    const all = ["  partition TEXT NOT NULL", "  id TEXT NOT NULL", ...columns, `  PRIMARY KEY (${order})`];
    return `CREATE TABLE ${table}_row (\n${all.join(",\n")}\n) STRICT, WITHOUT ROWID`;
  });
  return [
    ...statements,
    // What the sweeper looks for: few rows at any time.
    "CREATE INDEX unresolved_hold ON hold_row (lease_until) WHERE state IN ('open', 'orphaned')",
    // An account's receipts among everybody's: for its list of them.
    "CREATE INDEX own_receipt ON receipt_row (partition, id)",
  ];
}

/** A table's columns after `partition` and `id`, in their stored order. */
export function columnsOf(table: TableName): { property: string; column: string; kind: Column }[] {
  return Object.entries<Column>(tableSchemas[table].columns).map(([property, kind]) => ({
    property,
    column: property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    kind,
  }));
}

/** The name of a table's SQL table. */
export function sqlName(table: TableName): string {
  return `${table}_row`;
}

function columnSql(column: string, kind: Column): string {
  const nullable = kind.endsWith("?");
  const base = nullable ? kind.slice(0, -1) : kind;
  const type = base === "amount" || base === "integer" ? "INTEGER" : "TEXT";
  return `${column} ${type}${nullable ? "" : " NOT NULL"}${checkSql(column, base)}`;
}

function checkSql(column: string, kind: string): string {
  if (kind === "amount") return ` CHECK (${column} BETWEEN 0 AND ${MAX_NANO_USD})`;
  if (kind === "integer") return ` CHECK (${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER})`;
  if (kind.startsWith("one of ")) {
    const values = kind.slice("one of ".length).split(" ");
    return ` CHECK (${column} IN (${values.map((value) => `'${value}'`).join(", ")}))`;
  }
  return "";
}
