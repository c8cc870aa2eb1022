import type { DatabaseSync } from "node:sqlite";
import { deserialize } from "node:v8";
import type { EncodedRows } from "./encoded-rows.ts";
import type { LogPlace } from "./log-files.ts";
import { RowWrites, writeRow } from "./row-writes.ts";
import { prepareWrites } from "./statements.ts";

/** One row: the last record of the log that is in the tables, and the random number that log and tables share. */
export const CREATE_FOLDED = `CREATE TABLE IF NOT EXISTS folded (number INTEGER NOT NULL, ledger INTEGER NOT NULL) STRICT;
  INSERT INTO folded SELECT 0, abs(random() % ${2 ** 48}) WHERE NOT EXISTS (SELECT * FROM folded)`;

export function foldedUntil(database: DatabaseSync): LogPlace {
  const { number, ledger } = database.prepare("SELECT number, ledger FROM folded").get() ?? {};
  return { last: Number(number), ledger: Number(ledger) };
}

/** Writes the rows of records into the tables, each row once. */
export function writeRecords(
  database: DatabaseSync,
  records: readonly Uint8Array[],
  statements = prepareWrites(database),
) {
  const writes = new RowWrites();
  for (const record of records) writes.add(deserialize(record) as EncodedRows);
  for (const write of writes.all()) writeRow(statements, write);
}

/** Folds records of the log, the first of which has this number, in one transaction. */
export type Fold = (records: readonly Uint8Array[], first: number) => void;

export function openFold(database: DatabaseSync): Fold {
  const statements = prepareWrites(database);
  const advance = database.prepare("UPDATE folded SET number = ? WHERE number = ?");
  return function fold(records, first) {
    database.exec("BEGIN IMMEDIATE");
    try {
      const { changes } = advance.run(first + records.length - 1, first - 1);
      if (changes !== 1) throw new Error(`record ${first} is not the next one to fold`);
      writeRecords(database, records, statements);
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
}
