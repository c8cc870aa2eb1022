import type { DatabaseSync, StatementSync } from "node:sqlite";
import { tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import type { TableName } from "@inference/ledger/tables";

/** The prepared statements of one ledger table. */
export type TableStatements = Record<"select" | "upsert" | "remove" | "list", StatementSync>;

export function prepareStatements(database: DatabaseSync): Record<TableName, TableStatements> {
  const prepare = (table: TableName): TableStatements => {
    const { select, upsert, remove, list } = tableSql[table];
    return {
      select: database.prepare(select),
      upsert: database.prepare(upsert),
      remove: database.prepare(remove),
      list: database.prepare(list),
    };
  };
  return Object.fromEntries(tableNames.map((table) => [table, prepare(table)])) as Record<TableName, TableStatements>;
}
