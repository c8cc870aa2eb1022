import { MAX_NANO_USD } from "@inference/protocol/money";
import { columnsOf, tableNames } from "./schema.ts";
import type { Row, TableName } from "./tables.ts";

/**
 * Throws unless the tables would take the row as it is. They check it too, but later than it is acknowledged, and by
 * themselves they take NaN, and what is missing, for NULL, and digits for their number.
 */
export function assertStorable(table: TableName, row: Row): void {
  // What is no Unicode is stored as something else, under which another may be.
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
  /** Of a number, the largest; undefined for text. */
  most: number | undefined;
  /** What a text may be; undefined: anything. */
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
      const words = base.startsWith("one of ") ? new Set(base.slice("one of ".length).split(" ")) : undefined;
      return { property, isOptional: kind.endsWith("?"), most: most[base], words };
    }),
  ]),
) as unknown as Record<TableName, StorableColumn[]>;
