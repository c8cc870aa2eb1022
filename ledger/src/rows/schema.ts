import { type Column, type TableName, tableSchemas } from "./tables.ts";

/**
 * The SQLite schema of one machine. Every table is STRICT. Ranges and words are checked by `assertStorable` when a row is
 * made, and not by SQLite: CHECK constraints took a quarter of a commit's processor time.
 *
 * A new table needs a new version of the schema. A new nullable column does not.
 */
export const tableNames = Object.keys(tableSchemas) as TableName[];
/** The tables whose ids are ids of requests. */
export const timeOrderedTables = tableNames.filter((table) => tableSchemas[table].clustered === "time");

/** The version that a database stores. A database of another version is not opened. */
export const SCHEMA_VERSION = 7;

const indexes = {
  /** For an account's holds, and for the sweeper. It has few rows at any time. */
  hold: "receipt_row (partition, id) WHERE state IN ('open', 'orphaned')",
  /** For the list of an account's receipts. */
  own_receipt: "receipt_row (partition, id)",
  /** For an account's keys that are not revoked, which are few among any number of revoked ones. */
  live_key: "key_row (partition, id) WHERE revoked_at IS NULL",
  /** For the jobs that lower allowances, seal statements and send notices. */
  due_account: "account_row (partition) WHERE due_at IS NOT NULL",
  due_allowance: "allowance_row (partition) WHERE due_at IS NOT NULL",
  due_bill: "bill_row (partition) WHERE due_at IS NOT NULL",
};

/** The tables of a database with their columns, and its indexes. */
export const STORED_SCHEMA = `SELECT entry.name, part.name AS part FROM sqlite_master AS entry
  LEFT JOIN pragma_table_info(entry.name) AS part`;

/**
 * The statements that add missing tables, columns and indexes to a database. An added column must be nullable: existing
 * rows have null in it, and SQLite refuses any other.
 *
 * @param stored The result of `STORED_SCHEMA`; of an empty database, no rows.
 */
export function missingStatements(stored: readonly Readonly<Record<string, unknown>>[]): string[] {
  const parts = Map.groupBy(stored, ({ name }) => name);
  const missing = tableNames.flatMap((table) => {
    const has = parts.get(sqlName(table))?.map(({ part }) => part);
    if (has === undefined) return [createTable(table)];
    return columnsOf(table)
      .filter(({ column }) => !has.includes(column))
      .map(({ column, kind }) => `ALTER TABLE ${sqlName(table)} ADD COLUMN ${columnSql(column, kind)}`);
  });
  for (const [name, on] of Object.entries(indexes)) {
    if (!parts.has(name)) missing.push(`CREATE INDEX ${name} ON ${on}`);
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
    column: sqlColumn(property),
    kind,
  }));
}

/** The name of a property's SQL column. */
export function sqlColumn(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
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
