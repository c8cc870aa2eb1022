import type { DatabaseSync, StatementSync } from "node:sqlite";
import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type TableSql, tableSql } from "@inference/ledger/sql";
import type { TableName } from "@inference/ledger/tables";

/** Prepared statements of every ledger table. */
export type ReadStatements = Record<TableName, Record<"select" | "list" | "newest", StatementSync>>;
export type WriteStatements = Record<
  TableName,
  Record<"upsert" | "remove", StatementSync> & {
    /** Changes some columns: a bit for each, the lowest for the first column. Few combinations occur. */
    update(bits: number): StatementSync;
  }
>;

export function prepareReads(database: DatabaseSync): ReadStatements {
  return ofTables(({ select, list, newest }) => ({
    select: database.prepare(select),
    list: database.prepare(list),
    newest: database.prepare(newest),
  }));
}

export function prepareWrites(database: DatabaseSync): WriteStatements {
  return ofTables(({ upsert, remove, update }, table) => {
    const numbers = columnsOf(table).map((_column, number) => number);
    const updates = new Map<number, StatementSync>();
    return {
      upsert: database.prepare(upsert),
      remove: database.prepare(remove),
      update(bits) {
        let known = updates.get(bits);
        if (known === undefined) {
          known = database.prepare(update(numbers.filter((number) => (bits & (1 << number)) !== 0)));
          updates.set(bits, known);
        }
        return known;
      },
    };
  });
}

function ofTables<S>(prepare: (sql: TableSql, table: TableName) => S): Record<TableName, S> {
  return Object.fromEntries(tableNames.map((table) => [table, prepare(tableSql[table], table)])) as Record<
    TableName,
    S
  >;
}
