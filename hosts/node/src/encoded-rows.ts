import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Row, TableName } from "@inference/ledger/tables";

/**
 * Changed rows for the log, as one flat list, which is cheap to serialize. Each row begins with a number for its table
 * and kind. Then follow, by kind:
 *
 * - `WHOLE`: the number of columns, partition, id, and all columns
 * - `CHANGED`: a bit for each changed column, partition, id, and the changed columns
 * - `REMOVED`: partition and id
 *
 * The log outlives the process. Tables and columns are numbered by their places, so new ones must come last.
 */
export type EncodedRows = SqlValue[];

/** A row's change: `stored` is the row before it, undefined if there is none or it is unknown; null removes the row. */
type RowChange = { partition: string; table: TableName; id: string; stored: Row | undefined; row: Row | null };

export const WHOLE = 0;
const CHANGED = 1;
export const REMOVED = 2;
export const KINDS = 3;

const tableNumbers = new Map(tableNames.map((table, index) => [table, index]));
const properties = tableNames.map((table) => columnsOf(table).map(({ property }) => property));

export function encodeRow(into: EncodedRows, { partition, table, id, stored, row }: RowChange): void {
  const number = tableNumbers.get(table);
  if (number === undefined) throw new Error(`there is no table ${table}`);
  if (row === null) into.push(number * KINDS + REMOVED, partition, id);
  else if (stored === undefined) encodeWhole(into, number, row, partition);
  else encodeChanged(into, number, stored, row, partition);
}

function encodeWhole(into: EncodedRows, number: number, row: Row, partition: string): void {
  const table = tableNames[number] as TableName;
  into.push(number * KINDS + WHOLE, properties[number]?.length ?? 0, ...tableSql[table].toColumns(partition, row));
}

function encodeChanged(into: EncodedRows, number: number, stored: Row, row: Row, partition: string): void {
  const [before, after] = [stored, row] as unknown as Record<string, SqlValue>[];
  const start = into.length;
  into.push(number * KINDS + CHANGED, 0, partition, row.id);
  let bits = 0;
  let bit = 1;
  for (const property of properties[number] ?? []) {
    const value = after?.[property] ?? null;
    if (value !== before?.[property]) {
      bits |= bit;
      into.push(value);
    }
    bit <<= 1;
  }
  into[start + 1] = bits;
  if (bits === 0) into.length = start;
}
