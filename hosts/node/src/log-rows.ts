import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Row, TableName } from "@inference/ledger/tables";

/**
 * Changed rows for the log, as one flat list, which is cheap to serialize. Each row begins with a number for its table
 * and kind. Of a whole row follow the number of its columns, partition, id and all columns; of a removed one partition
 * and id.
 *
 * The log outlives the process. Tables and columns are numbered by their places, so new ones must come last.
 */
export type LogRows = SqlValue[];

/** A row as a record of the log has it; null: it is removed. */
export type LoggedRow = { table: number; partition: SqlValue; id: SqlValue; columns: SqlValue[] | null };

const WHOLE = 0;
const REMOVED = 2;
const KINDS = 3;

const tableNumbers = new Map(tableNames.map((table, index) => [table, index]));
const columnCounts = tableNames.map((table) => columnsOf(table).length);

export function addRow(into: LogRows, partition: string, table: TableName, id: string, row: Row | null): void {
  const number = tableNumbers.get(table);
  if (number === undefined) throw new Error(`there is no table ${table}`);
  if (row === null) into.push(number * KINDS + REMOVED, partition, id);
  else into.push(number * KINDS + WHOLE, columnCounts[number] ?? 0, ...tableSql[table].toColumns(partition, row));
}

/** @throws If another version wrote what this one does not read. */
export function* readRows(rows: LogRows): Generator<LoggedRow> {
  for (let at = 0; at < rows.length; ) {
    const head = Number(rows[at]);
    const table = Math.floor(head / KINDS);
    const known = columnCounts[table];
    if (known === undefined) throw new Error(LATER);
    if (head % KINDS === REMOVED) {
      yield { table, partition: rows[at + 1] ?? "", id: rows[at + 2] ?? "", columns: null };
      at += 3;
      continue;
    }
    if (head % KINDS !== WHOLE) throw new Error(EARLIER);
    const count = Number(rows[at + 1]);
    if (count > known) throw new Error(LATER);
    const columns = rows.slice(at + 4, at + 4 + count);
    yield { table, partition: rows[at + 2] ?? "", id: rows[at + 3] ?? "", columns };
    at += 4 + count;
  }
}

const WHAT_TO_DO = "Start that one again and stop it, then this one.";
const LATER = `The ledger's log names a table or a column that this version does not have: a later version wrote it. ${WHAT_TO_DO}`;
const EARLIER = `The ledger's log has changes of single columns: an earlier version wrote it, and did not end in order. ${WHAT_TO_DO}`;
