import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Row, TableName } from "@inference/ledger/tables";
import type { TableStatements } from "./statements.ts";

/**
 * Rows on their way to the disk, flat, so that they cost little to send to another thread. For each a head, which says
 * its table and what is done with it, and then its values: partition, id and columns of a whole row; the changed
 * columns, a bit for each, their values, partition and id of one that is there; partition and id of one to remove.
 */
export type EncodedRows = SqlValue[];

/** A row's change: from what is on disk, undefined if that is nothing or not known, to what is to be there. */
export type RowChange = { partition: string; table: TableName; id: string; stored: Row | undefined; row: Row | null };

const WHOLE = 0;
const CHANGED = 1;
const REMOVED = 2;
const KINDS = 3;

const tableNumbers = new Map(tableNames.map((table, index) => [table, index]));
const properties = tableNames.map((table) => columnsOf(table).map(({ property }) => property));

export function encodeRow(into: EncodedRows, { partition, table, id, stored, row }: RowChange): void {
  const number = tableNumbers.get(table);
  if (number === undefined) throw new Error(`there is no table ${table}`);
  if (row === null) into.push(number * KINDS + REMOVED, partition, id);
  else if (stored === undefined) into.push(number * KINDS + WHOLE, ...tableSql[table].toColumns(partition, row));
  else encodeChanged(into, number, stored, row, partition);
}

function encodeChanged(into: EncodedRows, number: number, stored: Row, row: Row, partition: string): void {
  const [before, after] = [stored, row] as unknown as Record<string, SqlValue>[];
  const start = into.length;
  into.push(number * KINDS + CHANGED, 0);
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
  else into.push(partition, row.id);
}

export function writeEncoded(statements: Record<TableName, TableStatements>, rows: EncodedRows): void {
  for (let at = 0; at < rows.length; ) {
    const head = Number(rows[at++]);
    const number = Math.floor(head / KINDS);
    const table = tableNames[number];
    if (table === undefined) throw new Error(`there is no table ${number}`);
    const of = statements[table];
    const kind = head % KINDS;
    const bits = kind === CHANGED ? Number(rows[at++]) : 0;
    const statement = kind === WHOLE ? of.upsert : kind === CHANGED ? of.update(bits) : of.remove;
    const end = at + (kind === WHOLE ? (properties[number]?.length ?? 0) : bitCount(bits)) + 2;
    const { changes } = statement.run(...rows.slice(at, end));
    if (kind === CHANGED && changes !== 1) throw new Error(`a row of ${table} that was to be there is gone`);
    at = end;
  }
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
