import type { DatabaseSync } from "node:sqlite";
import { tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import type { LogPlace } from "./log-files.ts";
import { type LoggedRow, readRows } from "./log-rows.ts";

/**
 * `folded` has one row: the last record of the log that is in the tables, and the random number that log and tables
 * share. `log_in_use` has a row while the log's files may have records that are not in the tables.
 */
export const CREATE_FOLDED = `CREATE TABLE IF NOT EXISTS folded (number INTEGER NOT NULL, ledger INTEGER NOT NULL) STRICT;
  INSERT INTO folded SELECT 0, abs(random() % ${2 ** 48}) WHERE NOT EXISTS (SELECT * FROM folded);
  CREATE TABLE IF NOT EXISTS log_in_use (since INTEGER NOT NULL) STRICT`;

export function isLogInUse(database: DatabaseSync): boolean {
  return database.prepare("SELECT since FROM log_in_use").get() !== undefined;
}

export function setLogInUse(database: DatabaseSync, isInUse: boolean): void {
  if (isLogInUse(database) === isInUse) return;
  database.exec(isInUse ? "INSERT INTO log_in_use SELECT number FROM folded" : "DELETE FROM log_in_use");
}

export function foldedUntil(database: DatabaseSync): LogPlace {
  const { number, ledger } = database.prepare("SELECT number, ledger FROM folded").get() ?? {};
  return { last: Number(number), ledger: Number(ledger) };
}

/** Writes the rows of records into the tables: each row once, as the last record has it. */
type WriteRecords = (records: readonly Uint8Array[]) => void;

function prepareWrites(database: DatabaseSync): WriteRecords {
  const statements = tableNames.map((table) => ({
    upsert: database.prepare(tableSql[table].upsert),
    remove: database.prepare(tableSql[table].remove),
  }));
  return (records) => {
    const tables = statements.map((table) => ({ ...table, rows: new Map<string, LoggedRow>() }));
    for (const record of records) {
      for (const row of readRows(record)) {
        tables[row.table]?.rows.set(`${row.id} ${row.partition}`, row);
      }
    }
    for (const { upsert, remove, rows } of tables) {
      for (const { partition, id, columns } of rows.values()) {
        if (columns === null) remove.run(partition, id);
        else upsert.run(partition, id, ...columns);
      }
    }
  };
}

/** Folds records of the log, the first of which has this number, in one transaction. */
export type Fold = (records: readonly Uint8Array[], first: number) => void;

export function openFold(database: DatabaseSync): Fold {
  const write = prepareWrites(database);
  const advance = database.prepare("UPDATE folded SET number = ? WHERE number = ?");
  return function fold(records, first) {
    database.exec("BEGIN IMMEDIATE");
    try {
      const { changes } = advance.run(first + records.length - 1, first - 1);
      if (changes !== 1) throw new Error(`record ${first} is not the next one to fold`);
      write(records);
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}
