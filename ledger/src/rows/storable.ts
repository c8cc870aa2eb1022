import { MAX_NANO_USD } from "@inference/protocol/money";
import { columnsOf, tableNames, wordsOf } from "./schema.ts";
import type { Row, TableName } from "./tables.ts";

/**
 * Throws unless the tables would store the row unchanged. The tables check it too, but only after it was acknowledged,
 * and they accept NaN and missing values as NULL, and digits as a number.
 */
export function assertStorable(table: TableName, row: Row): void {
  // Invalid Unicode would be stored as another text, which may be the id of another row.
  if (!row.id.isWellFormed()) throw new TypeError(`${table}: an id cannot be stored: ${JSON.stringify(row.id)}`);
  const values = row as unknown as Record<string, unknown>;
  for (const column of columns[table]) {
    const value = values[column.property];
    if (!isStorable(column, value)) {
      throw new TypeError(`${table} ${row.id}: ${column.property} cannot be stored: ${value}`);
    }
  }
}

type StorableColumn = {
  property: string;
  isOptional: boolean;
  /** The largest value of a number; undefined for text. */
  most: number | undefined;
  /** The allowed values of a text; undefined: any. */
  words: ReadonlySet<unknown> | undefined;
};

function isStorable({ isOptional, most, words }: StorableColumn, value: unknown): boolean {
  if (value === null) return isOptional;
  if (most === undefined) return typeof value === "string" && (words === undefined || words.has(value));
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;
}

const most: Readonly<Record<string, number>> = { amount: MAX_NANO_USD, integer: Number.MAX_SAFE_INTEGER };

const columns = Object.fromEntries(
  tableNames.map((table) => [
    table,
    columnsOf(table).map(({ property, kind }) => {
      const base = kind.replace("?", "");
      const words = wordsOf(kind);
      return { property, isOptional: kind.endsWith("?"), most: most[base], words: words && new Set(words) };
    }),
  ]),
) as unknown as Record<TableName, StorableColumn[]>;
