import { columnsOf, sqlName, tableNames, wordsOf } from "./schema.ts";
import type { Row, TableName, Tables } from "./tables.ts";

/** The SQL of one ledger table, and the conversion between rows and columns. The same for every host. */
export type TableSql = {
  /** Bind: partition, id. */
  select: string;
  /** Bind: the result of `toColumns`. */
  upsert: string;
  /** Bind: partition, id. */
  remove: string;
  /** Bind: partition, the id to begin after, the maximum of rows. */
  list: string;
  /** Bind: partition, the id to end before, the maximum of rows. */
  newest: string;
  toColumns(partition: string, row: Row): SqlValue[];
  toRow(columns: Readonly<Record<string, unknown>>): Row;
};
/**
 * The keys of a partition that are not revoked. Bind: partition. Without the index SQLite would read revoked ones too.
 */
export const LIVE_KEYS =
  "SELECT * FROM key_row INDEXED BY live_key WHERE partition = ? AND revoked_at IS NULL ORDER BY id";

/** The holds of a partition. Bind: partition. The index is small. */
export const HOLDS = `SELECT * FROM receipt_row INDEXED BY hold
  WHERE partition = ? AND state IN ('open', 'orphaned') ORDER BY id`;

export type SqlValue = string | number | null;

export const tableSql = Object.fromEntries(tableNames.map((table) => [table, makeTableSql(table)])) as Record<
  TableName,
  TableSql
>;

function makeTableSql(table: TableName): TableSql {
  const name = sqlName(table);
  const columns = columnsOf(table);
  const properties = columns.map(({ property }) => property);
  const names = columns.map(({ column }) => column);
  const updates = names.map((column) => `${column} = excluded.${column}`).join(", ");
  // From JSON, because an object that gets its members one by one takes more memory.
  const empty = JSON.parse(`{"id":null${properties.map((property) => `,"${property}":null`).join("")}}`) as object;
  /** The words that columns allow. Each is in memory once, and not once in each row. */
  const words = new Map<unknown, string>(
    columns.flatMap(({ kind }) => wordsOf(kind) ?? []).map((word) => [word, word]),
  );
  const places = Array.from({ length: names.length + 2 }, () => "?").join(", ");
  return {
    select: `SELECT * FROM ${name} WHERE partition = ? AND id = ?`,
    upsert: `INSERT INTO ${name} (partition, id, ${names.join(", ")}) VALUES (${places})
      ON CONFLICT (partition, id) DO UPDATE SET ${updates}`,
    remove: `DELETE FROM ${name} WHERE partition = ? AND id = ?`,
    list: `SELECT * FROM ${name} WHERE partition = ? AND id > ? ORDER BY id LIMIT ?`,
    newest: `SELECT * FROM ${name} WHERE partition = ? AND id < ? ORDER BY id DESC LIMIT ?`,
    toColumns(partition, row) {
      const values: SqlValue[] = [partition, row.id];
      const record = row as unknown as Record<string, SqlValue>;
      for (const property of properties) values.push(record[property] ?? null);
      return values;
    },
    toRow(stored) {
      const row: Record<string, unknown> = { ...empty, id: stored.id };
      for (const { property, column } of columns) row[property] = words.get(stored[column]) ?? stored[column];
      return row as Tables[TableName];
    },
  };
}
