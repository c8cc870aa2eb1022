import { columnsOf, tableNames } from "@inference/ledger/schema";
import type { SqlValue } from "@inference/ledger/sql";
import type { Change, Row, TableName } from "@inference/ledger/tables";

/**
 * A record of the log: the changed rows of a commit. It begins with a byte for its form, and four for where the texts
 * begin. Then numbers: of each row its table and whether it is removed, the length of its partition's name (0: the
 * partition of the row before) and of its id, the number of its columns, and of each column one more than its value, or
 * than the length of its text, or 0 for null. Then all texts, one after the other.
 *
 * The log outlives the process. Tables and columns are numbered by their places, so new ones must come last.
 */
const FORM = 2;
const HEAD_BYTES = 5;

/** A row as a record of the log has it; null: it is removed. */
export type LoggedRow = { table: number; partition: string; id: string; columns: SqlValue[] | null };

type Table = { properties: string[]; isText: boolean[] };
const tables = tableNames.map((table): Table => {
  const columns = columnsOf(table);
  const isText = columns.map(({ kind }) => !kind.startsWith("amount") && !kind.startsWith("integer"));
  return { properties: columns.map(({ property }) => property), isText };
});
const tableNumbers = new Map(tableNames.map((table, index) => [table, index]));
/** A number takes at most 8 bytes: seven bits of it are in each. */
const MOST_NUMBERS = 4 + Math.max(...tables.map(({ properties }) => properties.length));

export class RecordWriter {
  #bytes = Buffer.allocUnsafe(2 ** 16);
  #end = HEAD_BYTES;
  #texts: string[] = [];
  #partition = "";

  add(partition: string, table: TableName, id: string, row: Row | null): void {
    const number = tableNumbers.get(table) ?? 0;
    if (this.#end + MOST_NUMBERS * 8 > this.#bytes.length) this.#grow(this.#bytes.length);
    this.#number(number * 2 + (row === null ? 1 : 0));
    this.#text(partition === this.#partition ? "" : partition);
    this.#partition = partition;
    this.#text(id);
    if (row === null) return;
    const { properties } = tables[number] as Table;
    this.#number(properties.length);
    const values = row as unknown as Record<string, SqlValue>;
    for (const property of properties) {
      const value = values[property] ?? null;
      if (typeof value === "string") {
        this.#number(value.length + 1);
        this.#texts.push(value);
      } else if (value === null) this.#number(0);
      else if (Number.isSafeInteger(value) && value >= 0) this.#number(value + 1);
      else throw new TypeError(`the log cannot store ${value} in ${table} ${id}: ${property}`);
    }
  }

  /** The record, which is valid until the next row is added. */
  finish(): Uint8Array {
    const text = this.#texts.join("");
    const start = this.#end;
    // A UTF-16 unit takes at most 3 bytes.
    if (start + text.length * 3 > this.#bytes.length) this.#grow(text.length * 3);
    const end = start + this.#bytes.write(text, start);
    this.#bytes[0] = FORM;
    this.#bytes.writeUInt32LE(start, 1);
    this.#end = HEAD_BYTES;
    this.#texts = [];
    this.#partition = "";
    return this.#bytes.subarray(0, end);
  }

  #text(text: string): void {
    this.#number(text.length);
    this.#texts.push(text);
  }

  #number(value: number): void {
    let left = value;
    while (left >= 128) {
      const high = Math.floor(left / 128);
      this.#bytes[this.#end++] = left - high * 128 + 128;
      left = high;
    }
    this.#bytes[this.#end++] = left;
  }

  #grow(more: number): void {
    const bytes = Buffer.allocUnsafe(this.#bytes.length + more);
    this.#bytes.copy(bytes, 0, 0, this.#end);
    this.#bytes = bytes;
  }
}

/** @throws If another version wrote what this one does not read. */
export function* readRows(record: Uint8Array): Generator<LoggedRow> {
  if (record[0] !== FORM) throw new Error(record[0] === EARLIER_FORM ? EARLIER_LOG : LATER);
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.length);
  const end = bytes.readUInt32LE(1);
  const texts = bytes.toString("utf8", end);
  let at = HEAD_BYTES;
  let textAt = 0;
  const number = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const text = (length: number) => {
    textAt += length;
    return texts.slice(textAt - length, textAt);
  };
  let partition = "";
  while (at < end) {
    const head = number();
    const table = head >>> 1;
    const known = tables[table];
    if (known === undefined) throw new Error(LATER);
    partition = text(number()) || partition;
    const id = text(number());
    const columns: SqlValue[] | null = head % 2 === 1 ? null : [];
    if (columns !== null) {
      const count = number();
      if (count > known.properties.length) throw new Error(LATER);
      for (let place = 0; place < count; place += 1) {
        const value = number() - 1;
        if (value < 0) columns.push(null);
        else columns.push(known.isText[place] ? text(value) : value);
      }
    }
    yield { table, partition, id, columns };
  }
}

export function changeOf({ table, id, columns }: LoggedRow): Change {
  const row: Record<string, SqlValue> = { id };
  for (const [place, property] of tables[table]?.properties.entries() ?? []) row[property] = columns?.[place] ?? null;
  return { table: tableNames[table], id, row: columns === null ? null : row } as unknown as Change;
}

/** A list of values, serialized by V8. */
const EARLIER_FORM = 0xff;
const WHAT_TO_DO = "Start that one again and stop it, then this one.";
const LATER = `The ledger's log has what this version does not know: a later version wrote it. ${WHAT_TO_DO}`;
export const EARLIER_LOG = `The ledger's log has another form: an earlier version wrote it, and did not end in order. ${WHAT_TO_DO}`;
