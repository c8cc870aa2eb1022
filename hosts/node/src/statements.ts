import type { DatabaseSync, StatementSync } from "node:sqlite";
import { columnsOf, sqlName, tableNames } from "@inference/ledger/schema";
import type { Row, TableName, Tables } from "@inference/ledger/tables";

/** The prepared statements of one ledger table, and the way between its rows and its columns. */
export type TableStatements = {
  select: StatementSync;
  upsert: StatementSync;
  remove: StatementSync;
  list: StatementSync;
  /** The values to bind: partition, id, then the columns. */
  toColumns(partition: string, row: Row): (string | number | null)[];
  toRow(columns: Record<string, unknown>): Row;
};

export function prepareStatements(database: DatabaseSync): Record<TableName, TableStatements> {
  return Object.fromEntries(tableNames.map((table) => [table, prepareTable(database, table)])) as Record<
    TableName,
    TableStatements
  >;
}

function prepareTable(database: DatabaseSync, table: TableName): TableStatements {
  const name = sqlName(table);
  const columns = columnsOf(table);
  const properties = columns.map(({ property }) => property);
  const names = columns.map(({ column }) => column);
  const updates = names.map((column) => `${column} = excluded.${column}`).join(", ");
  const places = Array.from({ length: names.length + 2 }, () => "?").join(", ");
  return {
    select: database.prepare(`SELECT * FROM ${name} WHERE partition = ? AND id = ?`),
    upsert: database.prepare(
      `INSERT INTO ${name} (partition, id, ${names.join(", ")}) VALUES (${places})
       ON CONFLICT (partition, id) DO UPDATE SET ${updates}`,
    ),
    remove: database.prepare(`DELETE FROM ${name} WHERE partition = ? AND id = ?`),
    list: database.prepare(`SELECT * FROM ${name} WHERE partition = ? AND id > ? ORDER BY id LIMIT ?`),
    toColumns(partition, row) {
      const values: (string | number | null)[] = [partition, row.id];
      const record = row as unknown as Record<string, string | number | null>;
      for (const property of properties) values.push(record[property] ?? null);
      return values;
    },
    toRow(stored) {
      const row: Record<string, unknown> = { id: stored.id };
      for (const { property, column } of columns) row[property] = stored[column];
      return row as Tables[TableName];
    },
  };
}
