import { columnsOf, tableNames } from "@inference/ledger/schema";
import type { SqlValue } from "@inference/ledger/sql";
import { type EncodedRows, KINDS, REMOVED, WHOLE } from "./encoded-rows.ts";
import type { WriteStatements } from "./statements.ts";

/** A row after all its gathered changes. */
export type RowWrite = {
  table: number;
  partition: SqlValue;
  id: SqlValue;
  kind: number;
  /** Of a changed row: a bit for each column with a value here. */
  bits: number;
  /** By the number of the column. */
  values: SqlValue[];
};

/** Gathers the changes of rows in their order, so that each row is written once. */
export class RowWrites {
  readonly #rows = tableNames.map(() => new Map<string, RowWrite>());

  add(rows: EncodedRows): void {
    for (let at = 0; at < rows.length; ) {
      const head = Number(rows[at]);
      const table = Math.floor(head / KINDS);
      const kind = head % KINDS;
      if (kind !== REMOVED && !isOfColumns(table, kind, Number(rows[at + 1]))) throw new Error(LATER);
      if (kind === REMOVED) {
        this.#put({ table, partition: rows[at + 1] ?? "", id: rows[at + 2] ?? "", kind, bits: 0, values: [] });
        at += 3;
        continue;
      }
      const [partition = "", id = ""] = [rows[at + 2], rows[at + 3]];
      if (kind === WHOLE) {
        const end = at + 4 + Number(rows[at + 1]);
        this.#put({ table, partition, id, kind, bits: 0, values: rows.slice(at + 4, end) });
        at = end;
      } else at = this.#change({ table, partition, id, kind, bits: Number(rows[at + 1]), values: [] }, rows, at + 4);
    }
  }

  /** All that was gathered, each row once. */
  all(): RowWrite[] {
    return this.#rows.flatMap((rows) => [...rows.values()]);
  }

  #put(write: RowWrite): void {
    this.#of(write.table).set(keyOf(write), write);
  }

  /** Adds the values of a row's changed columns. Returns where they end. */
  #change(change: RowWrite, rows: EncodedRows, from: number): number {
    const known = this.#of(change.table).get(keyOf(change));
    const into = known ?? change;
    if (into.kind === REMOVED) throw new Error(`a row of ${tableNames[change.table]} changed after it was removed`);
    let at = from;
    for (let column = 0, rest = change.bits; rest !== 0; column += 1, rest >>>= 1) {
      if ((rest & 1) !== 0) into.values[column] = rows[at++] ?? null;
    }
    if (known === undefined) this.#put(change);
    else known.bits |= change.bits;
    return at;
  }

  #of(table: number): Map<string, RowWrite> {
    const rows = this.#rows[table];
    if (rows === undefined) throw new Error(LATER);
    return rows;
  }
}

export function writeRow(statements: WriteStatements, { table, partition, id, kind, bits, values }: RowWrite): void {
  const name = tableNames[table] as (typeof tableNames)[number];
  const of = statements[name];
  if (kind === REMOVED) of.remove.run(partition, id);
  else if (kind === WHOLE) of.upsert.run(partition, id, ...values);
  else {
    const changed: SqlValue[] = [];
    for (let column = 0, rest = bits; rest !== 0; column += 1, rest >>>= 1) {
      if ((rest & 1) !== 0) changed.push(values[column] ?? null);
    }
    const { changes } = of.update(bits).run(...changed, partition, id);
    if (changes !== 1) throw new Error(`a row of ${name} that was to be there is gone`);
  }
}

const columnCounts = tableNames.map((table) => columnsOf(table).length);

/** @param what The number of a whole row's columns, or the bits of those that changed. */
function isOfColumns(table: number, kind: number, what: number): boolean {
  const count = columnCounts[table] ?? 0;
  return kind === WHOLE ? what <= count : what < 2 ** count;
}

const LATER =
  "The ledger's log names a table or a column that this version does not have: a later version wrote it. " +
  "Start that one again and stop it, then this one.";

function keyOf({ partition, id }: RowWrite): string {
  return `${id} ${partition}`;
}
