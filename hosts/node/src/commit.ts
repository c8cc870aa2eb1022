import type { DatabaseSync } from "node:sqlite";
import { tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { TableName } from "@inference/ledger/tables";

/** The changes of one commit, by table: the columns of written rows, and partition and id of removed ones. */
export type Changes = { [T in TableName]?: { written: SqlValue[][]; removed: [partition: string, id: string][] } };

/** Writes changes into the tables in one transaction. The connection is then the only one that writes. */
export function prepareCommit(database: DatabaseSync): (changes: Changes) => void {
  const statements = tableNames.map((table) => {
    const { upsert, remove } = tableSql[table];
    return { table, upsert: database.prepare(upsert), remove: database.prepare(remove) };
  });
  return function commit(changes) {
    database.exec("BEGIN IMMEDIATE");
    try {
      for (const { table, upsert, remove } of statements) {
        const { written = [], removed = [] } = changes[table] ?? {};
        for (const columns of written) upsert.run(...columns);
        for (const [partition, id] of removed) remove.run(partition, id);
      }
      database.exec("COMMIT");
    } catch (error) {
      // After some errors SQLite has rolled back by itself.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}
