import { columnsOf, tableNames } from "./schema.ts";
import type { Row, TableName } from "./tables.ts";

/**
 * SQLite takes NaN, and what is missing, for NULL, and digits for their number. What else is wrong with a row its
 * tables refuse by themselves.
 */
export function assertStorable(table: TableName, row: Row): Row {
  const values = row as unknown as Record<string, unknown>;
  for (const { property, isNumber } of columns[table]) {
    const value = values[property];
    const isRight = value === null || (isNumber ? Number.isSafeInteger(value) : typeof value === "string");
    if (!isRight) throw new TypeError(`${table} ${row.id}: ${property} cannot be stored: ${value}`);
  }
  return row;
}

const columns = Object.fromEntries(
  tableNames.map((table) => [
    table,
    columnsOf(table).map(({ property, kind }) => ({ property, isNumber: /^(amount|integer)/.test(kind) })),
  ]),
) as Record<TableName, { property: string; isNumber: boolean }[]>;

/** The tables where NULL in a number's place has a meaning: no limit, not revoked, never over. */
export const tablesOfOptionalNumbers: ReadonlySet<TableName> = new Set(
  tableNames.filter((table) => columnsOf(table).some(({ kind }) => /^(amount|integer)\?$/.test(kind))),
);
