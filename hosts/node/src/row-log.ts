import type { DatabaseSync } from "node:sqlite";
import { deserialize, serialize } from "node:v8";
import type { EncodedRows } from "./encoded-rows.ts";
import { type RowWrite, RowWrites, writeRow } from "./row-writes.ts";
import { prepareStatements, prepareTransaction } from "./statements.ts";

/**
 * The log of rows that are durable and not in their tables yet. A commit appends one row to the log, with all its
 * changes. Later the changes of many commits are folded into the tables, each row once. Both are in one file: after a
 * crash the next process folds the log, and nothing is lost.
 */
export type RowLog = {
  /** Makes changed rows durable, as the database's `synchronous` says. Returns their number in the log. */
  append(rows: EncodedRows): number;
  /** Folds a small part of the log, if there is anything to fold. */
  fold(): void;
  foldAll(): void;
  /** The number of the last append. */
  readonly last: number;
  /** All appends up to this number are in the tables. */
  readonly folded: number;
  readonly isEmpty: boolean;
  /** Whether the log is large enough to be worth a transaction now. */
  readonly isDue: boolean;
  /** Whether the log is so large that it must be folded before the next append. */
  readonly isBehind: boolean;
};

export const CREATE_LOG = "CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, rows BLOB NOT NULL) STRICT";

/** The changes of about 1,500 requests. Their counters and holds are then written once. */
const DUE_BYTES = 2 * 2 ** 20;
const BEHIND_BYTES = 8 * DUE_BYTES;
/** SQLite's number for `FULL`. */
const SYNCHRONOUS_FULL = 2;
/** Writing this many rows takes about a millisecond, for which requests wait. */
const ROWS_AT_ONCE = 256;

type RowLogOptions = {
  /** Maximum rows that one part of folding writes. */
  rowsAtOnce?: number;
};

export function openRowLog(database: DatabaseSync, { rowsAtOnce = ROWS_AT_ONCE }: RowLogOptions = {}): RowLog {
  const isFull = database.prepare("PRAGMA synchronous").get()?.synchronous === SYNCHRONOUS_FULL;
  const statements = prepareStatements(database);
  const transact = prepareTransaction(database);
  const insert = database.prepare("INSERT INTO log (number, rows) VALUES (?, ?)");
  const remove = database.prepare("DELETE FROM log WHERE number <= ?");
  const gathered = new RowWrites();
  /** Bytes since the last fold began. */
  let appendedBytes = 0;
  let last = 0;
  let folded = 0;
  /** The fold in progress: its last number in the log, its rows, and how many of them are written. */
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
    // Folding need not wait for the disk: its rows are still in the log.
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
