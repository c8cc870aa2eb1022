import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Row, TableName } from "@inference/ledger/tables";

/**
 * Changed rows on their way to the disk, flat, so that they cost little to send and to keep. For each a head, which
 * says its table and what is done with it, and then its values: the number of columns, partition, id and columns of a
 * whole row; a bit for each changed column, partition, id and their values of one that is there; partition and id of
 * one to remove.
 *
 * They outlive their process, in the log: tables and columns have the numbers of their places, so new ones come last.
 */
export type EncodedRows = SqlValue[];

/** A row's change: from what is stored, undefined if that is nothing or not known, to what is to be there. */
export type RowChange = { partition: string; table: TableName; id: string; stored: Row | undefined; row: Row | null };

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
