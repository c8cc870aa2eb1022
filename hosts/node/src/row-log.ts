import type { DatabaseSync } from "node:sqlite";
import { deserialize, serialize } from "node:v8";
import type { EncodedRows } from "./encoded-rows.ts";
import { type RowWrite, RowWrites, writeRow } from "./row-writes.ts";
import { prepareStatements, prepareTransaction } from "./statements.ts";

/**
 * What is durable and not yet in its tables: a commit appends one row to the log, with all that it changes, and what
 * many commits changed is folded into the tables later, each row once. Both are in one file, so whoever finds a log
 * there after a crash folds it, and has lost nothing.
 */
export type RowLog = {
  /** Makes changed rows durable, as the database's `synchronous` says. Answers their number in the log. */
  append(rows: EncodedRows): number;
  /** Does a small part of the folding, if there is anything to fold. */
  fold(): void;
  foldAll(): void;
  /** The number of what was appended last. */
  readonly last: number;
  /** Up to which number all is in the tables. */
  readonly folded: number;
  readonly isEmpty: boolean;
  /** There is something to do at once: so much has gathered that folding it is worth a transaction. */
  readonly isDue: boolean;
  /** So much has gathered that nothing should be appended before some of it is folded. */
  readonly isBehind: boolean;
};

export const CREATE_LOG = "CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, rows BLOB NOT NULL) STRICT";

/** About 1,500 requests: their counters, and the two states of their holds, are written once. */
const DUE_BYTES = 2 * 2 ** 20;
const BEHIND_BYTES = 8 * DUE_BYTES;
/** The number that SQLite gives this level. */
const SYNCHRONOUS_FULL = 2;
/** Requests wait for so many rows, a millisecond. */
const ROWS_AT_ONCE = 256;

export type RowLogOptions = {
  /** The most that one part of folding writes. */
  rowsAtOnce?: number;
};

export function openRowLog(database: DatabaseSync, { rowsAtOnce = ROWS_AT_ONCE }: RowLogOptions = {}): RowLog {
  const isFull = database.prepare("PRAGMA synchronous").get()?.synchronous === SYNCHRONOUS_FULL;
  const statements = prepareStatements(database);
  const transact = prepareTransaction(database);
  const insert = database.prepare("INSERT INTO log (number, rows) VALUES (?, ?)");
  const remove = database.prepare("DELETE FROM log WHERE number <= ?");
  const gathered = new RowWrites();
  /** Since the last fold began. */
  let appendedBytes = 0;
  let last = 0;
  let folded = 0;
  /** What is being folded: up to this number of the log, and of these rows the first so many are written. */
  let folding: { until: number; rows: RowWrite[]; written: number } | undefined;

  for (const { number, rows } of database.prepare("SELECT number, rows FROM log ORDER BY number").iterate()) {
    gathered.add(deserialize(rows as Uint8Array) as EncodedRows);
    last = Number(number);
    appendedBytes += (rows as Uint8Array).byteLength;
  }

  function append(rows: EncodedRows): number {
    const bytes = serialize(rows);
    transact(() => insert.run(last + 1, bytes));
    last += 1;
    gathered.add(rows);
    appendedBytes += bytes.byteLength;
    return last;
  }

  function fold(): void {
    if (folding === undefined) {
      if (folded === last) return;
      appendedBytes = 0;
      folding = { until: last, rows: gathered.take(), written: 0 };
    }
    const { until, rows, written } = folding;
    const next = Math.min(written + rowsAtOnce, rows.length);
    // Folding waits for no disk: what is lost of it is still in the log.
    if (isFull) database.exec("PRAGMA synchronous = NORMAL");
    try {
      transact(() => {
        for (const row of rows.slice(written, next)) writeRow(statements, row);
        if (next === rows.length) remove.run(until);
      });
    } finally {
      if (isFull && database.isOpen) database.exec("PRAGMA synchronous = FULL");
    }
    folding.written = next;
    if (next < rows.length) return;
    folded = until;
    folding = undefined;
  }

  return {
    append,
    fold,
    foldAll() {
      while (folded !== last) fold();
    },
    get last() {
      return last;
    },
    get folded() {
      return folded;
    },
    get isEmpty() {
      return folded === last;
    },
    get isDue() {
      return folding !== undefined || appendedBytes >= DUE_BYTES;
    },
    get isBehind() {
      return appendedBytes >= BEHIND_BYTES;
    },
  };
}
