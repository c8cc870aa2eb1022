import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Row, TableName } from "@inference/ledger/tables";
import type { TableStatements } from "./statements.ts";

/**
 * Rows on their way to the disk, flat, so that they cost little to send to another thread: for each row its table's
 * number and its columns; for a removed one -1 less that number, and its partition and id.
 */
export type EncodedRows = SqlValue[];

const tableNumbers = new Map(tableNames.map((table, index) => [table, index]));
const widths = tableNames.map((table) => columnsOf(table).length + 2);

export function encodeRow(
  into: EncodedRows,
  { partition, table, id, row }: { partition: string; table: TableName; id: string; row: Row | null },
): void {
  const number = tableNumbers.get(table);
  if (number === undefined) throw new Error(`there is no table ${table}`);
  if (row === null) into.push(-1 - number, partition, id);
  else into.push(number, ...tableSql[table].toColumns(partition, row));
}

export function writeEncoded(statements: Record<TableName, TableStatements>, rows: EncodedRows): void {
  for (let at = 0; at < rows.length; ) {
    const number = Number(rows[at]);
    const removed = number < 0;
    const index = removed ? -1 - number : number;
    const table = tableNames[index];
    if (table === undefined) throw new Error(`there is no table ${number}`);
    const width = removed ? 2 : (widths[index] ?? 0);
    const values = rows.slice(at + 1, at + 1 + width);
    if (removed) statements[table].remove.run(...values);
    else statements[table].upsert.run(...values);
    at += 1 + width;
  }
}
