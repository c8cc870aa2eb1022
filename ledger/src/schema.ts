import { windows } from "@inference/protocol/window";
import { batchOrigins, batchStates, holdStates, type TableName, type Tables } from "./tables.ts";

/**
 * The SQLite schema of both hosts. Every table is STRICT. Ranges and words are checked by `assertStorable` when a row is
 * made, and not by SQLite: CHECK constraints took a quarter of a commit's processor time.
 *
 * A new table needs a new version of the schema. A new nullable column does not. A new table is first known by a
 * release that writes no row of it, so that the next one can be rolled back.
 *
 * `clustered` is the order of a table's rows on disk: `time` for rows that are written once with a time-ordered id (a
 * commit then touches only the last pages, however many accounts there are), `partition` for rows that are updated.
 */
type ColumnKind = "text" | "amount" | "integer" | `one of ${string}`;
type Column = ColumnKind | `${ColumnKind}?`;

export type TableSchema<T extends TableName> = {
  clustered: "time" | "partition";
  /** The version that added the table. Absent: the first. */
  since?: number;
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
      server: "text?",
      offer: "text?",
      ceiling: "text?",
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
      unpaidUntil: "integer?",
    },
  },
  secret: { clustered: "partition", columns: { keyId: "text" } },
  account: { clustered: "partition", columns: { keys: "integer", createdAt: "integer" } },
  nonce: { clustered: "partition", columns: { expiresAt: "integer", digest: "text?" } },
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
    columns: {
      account: "text",
      chargeNanoUsd: "amount",
      admittedAt: "integer",
      server: "text",
      batch: "integer?",
      offer: "text?",
      setAside: "text?",
    },
  },
  outbox: { clustered: "partition", columns: { target: "text", command: "text" } },
  cursor: {
    clustered: "partition",
    columns: {
      block: "integer",
      blockHash: "text",
      lastActivationId: "integer",
      totalActivated: "text",
      lastBatchId: "integer?",
      totalDebitedNanoUsd: "text?",
      foreignBatch: "integer?",
    },
  },
  gathering: {
    clustered: "partition",
    since: 3,
    columns: {
      gatheredTo: "text",
      batch: "integer?",
      openedAt: "integer",
      firstUse: "text?",
      lastUse: "text?",
      shards: "text?",
    },
  },
  batch: {
    clustered: "partition",
    since: 3,
    columns: {
      state: `one of ${batchStates.join(" ")}`,
      journal: "text",
      openedAt: "integer",
      root: "text?",
      uses: "integer",
      amountNanoUsd: "amount",
      firstUse: "text?",
      lastUse: "text?",
      transactions: "integer",
      settledBy: "text?",
      block: "integer?",
      settledAt: "integer?",
      entries: "text?",
    },
  },
  transaction: {
    clustered: "partition",
    since: 3,
    columns: {
      hash: "text",
      raw: "text",
      nonce: "integer",
      maxFeePerGasWei: "text",
      day: "text",
      signedAt: "integer",
    },
  },
  posted: {
    clustered: "partition",
    since: 4,
    columns: {
      origin: `one of ${batchOrigins.join(" ")}`,
      day: "text",
      root: "text",
      amountNanoUsd: "amount",
      paidAfterNanoUsd: "amount",
      totalDebitedNanoUsd: "text",
      block: "integer",
      hash: "text",
    },
  },
  onchain: { clustered: "partition", since: 4, columns: { creditNanoUsd: "amount" } },
  debit: {
    clustered: "partition",
    since: 4,
    columns: { amountNanoUsd: "amount", debitedAt: "integer", detail: "text" },
  },
  offer: {
    clustered: "partition",
    since: 5,
    columns: {
      hash: "text",
      day: "integer",
      shareBps: "integer",
      nonce: "integer",
      since: "integer",
      computer: "text",
      owner: "text",
      endedAt: "integer?",
    },
  },
  reconciliation: {
    clustered: "partition",
    since: 6,
    columns: { at: "integer", closedAt: "integer?", unexplainedNanoUsd: "amount", detail: "text" },
  },
  block: {
    clustered: "partition",
    since: 6,
    columns: {
      drawnBy: "text",
      drawnAt: "integer",
      amountNanoUsd: "amount",
      closesAt: "integer",
      ceiling: "text?",
    },
  },
};

export const tableNames = Object.keys(tableSchemas) as TableName[];
/** The tables whose ids are ids of requests. */
export const timeOrderedTables = tableNames.filter((table) => tableSchemas[table].clustered === "time");

/**
 * The version that a database stores. In version 2 the newest rows may be in the host's log and not in their tables
 * yet, so a program for version 1 must not read them. Version 3 adds the tables of batches, version 4 those of what the
 * chain says of them, version 5 that of offers, version 6 that of blocks.
 */
export const SCHEMA_VERSION = 6;
/** The oldest version that is upgraded when it is opened. */
const OLDEST_SCHEMA_VERSION = 1;

/** The oldest version that reads a row of this table. */
export function versionOf(table: TableName): number {
  return tableSchemas[table].since ?? OLDEST_SCHEMA_VERSION;
}

export function isReadableSchema(version: number): boolean {
  return version >= OLDEST_SCHEMA_VERSION && version <= SCHEMA_VERSION;
}

const indexes = {
  /** For the sweeper. It has few rows at any time. */
  unresolved_hold: "hold_row (lease_until) WHERE state IN ('open', 'orphaned')",
  /** For the list of an account's receipts. */
  own_receipt: "receipt_row (partition, id)",
  /** For an account's keys that are not revoked, which are few among any number of revoked ones. */
  live_key: "key_row (partition, id) WHERE revoked_at IS NULL",
};

/** `CREATE TABLE` and `CREATE INDEX` statements for an empty database. */
export function createStatements(): string[] {
  return missingStatements([]);
}

/** The tables of a database with their columns, and its indexes, without Cloudflare's own. */
export const STORED_SCHEMA = `SELECT entry.name, part.name AS part FROM sqlite_master AS entry
  LEFT JOIN pragma_table_info(entry.name) AS part WHERE entry.name NOT GLOB '_cf_*'`;

/**
 * The statements that add missing tables, columns and indexes to a database. An added column must be nullable: existing
 * rows have null in it, and SQLite refuses any other.
 *
 * @param stored The result of `STORED_SCHEMA`.
 * @param without Indexes that this database does not need.
 * @param tables The tables that it needs.
 */
export function missingStatements(
  stored: readonly Readonly<Record<string, unknown>>[],
  without: readonly (keyof typeof indexes)[] = [],
  tables: readonly TableName[] = tableNames,
): string[] {
  const parts = Map.groupBy(stored, ({ name }) => name);
  const missing = tables.flatMap((table) => {
    const has = parts.get(sqlName(table))?.map(({ part }) => part);
    if (has === undefined) return [createTable(table)];
    return columnsOf(table)
      .filter(({ column }) => !has.includes(column))
      .map(({ column, kind }) => `ALTER TABLE ${sqlName(table)} ADD COLUMN ${columnSql(column, kind)}`);
  });
  for (const [name, on] of Object.entries(indexes)) {
    if (parts.has(name) || without.some((one) => one === name)) continue;
    if (!tables.some((table) => on.startsWith(`${sqlName(table)} `))) continue;
    missing.push(`CREATE INDEX ${name} ON ${on}`);
  }
  return missing;
}

function createTable(table: TableName): string {
  const columns = columnsOf(table).map(({ column, kind }) => `  ${columnSql(column, kind)}`);
  const order = tableSchemas[table].clustered === "time" ? "id, partition" : "partition, id";
  const all = ["  partition TEXT NOT NULL", "  id TEXT NOT NULL", ...columns, `  PRIMARY KEY (${order})`];
  return `CREATE TABLE ${sqlName(table)} (\n${all.join(",\n")}\n) STRICT, WITHOUT ROWID`;
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
  return `${column} ${type}${nullable ? "" : " NOT NULL"}`;
}

/** The texts that a column allows; undefined: any. */
export function wordsOf(kind: string): string[] | undefined {
  return kind.startsWith("one of ") ? kind.replace("?", "").slice("one of ".length).split(" ") : undefined;
}
