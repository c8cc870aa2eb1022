import type { DatabaseSync, StatementSync } from "node:sqlite";
import { columnsOf, tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import type { TableName } from "@inference/ledger/tables";

/** The prepared statements of one ledger table. */
type TableStatements = Record<"select" | "upsert" | "remove" | "list" | "newest", StatementSync> & {
  /** Changes some columns: a bit for each, the lowest for the first column. Few combinations occur. */
  update(bits: number): StatementSync;
};

export type Statements = Record<TableName, TableStatements>;

export function prepareStatements(database: DatabaseSync): Statements {
  const prepare = (table: TableName): TableStatements => {
    const { select, upsert, update, remove, list, newest } = tableSql[table];
    const numbers = columnsOf(table).map((_column, number) => number);
    const updates = new Map<number, StatementSync>();
    return {
      select: database.prepare(select),
      upsert: database.prepare(upsert),
      update(bits) {
        let known = updates.get(bits);
        if (known === undefined) {
          known = database.prepare(update(numbers.filter((number) => (bits & (1 << number)) !== 0)));
          updates.set(bits, known);
        }
        return known;
      },
      remove: database.prepare(remove),
      list: database.prepare(list),
      newest: database.prepare(newest),
    };
  };
  return Object.fromEntries(tableNames.map((table) => [table, prepare(table)])) as Statements;
}

/** Runs work in one transaction. */
export function prepareTransaction(database: DatabaseSync): (work: () => void) => void {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const end = database.prepare("COMMIT");
  return function transact(work) {
    begin.run();
    try {
      work();
      end.run();
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}
