import type { SqlStorage } from "@cloudflare/workers-types";
import type { Partition } from "@inference/ledger/partition";
import { unpack } from "./packed-text.ts";

/** A row as it is stored. Another version may have given it more properties. */
export type StoredRow = { readonly id: string; readonly [property: string]: unknown };
/** A row that was written, or removed. Its kind is a table of the ledger, or one that only a later version knows. */
export type StoredChange = { readonly table: string; readonly id: string; readonly row: StoredRow | null };

/**
 * The highest version of an object that this release reads. Rows pass through a release that does not know their kind
 * or a property of theirs, so most changes need no other version.
 */
export const OBJECT_VERSION = 2;
/** The version of an object with a packed segment or a packed log. */
export const PACKED_VERSION = 2;

/**
 * The log of an object: its changes since the last fold, which writes them into segments. Each commit is one row. The
 * log is a ring: a fold starts again at the first slot with the next number, and rows of older folds are ignored. So no
 * row is ever deleted, because a delete costs as much as a write.
 */
export const CREATE_LOG = `CREATE TABLE log (
  slot INTEGER PRIMARY KEY, fold INTEGER NOT NULL, version INTEGER NOT NULL, partition TEXT NOT NULL,
  changes TEXT NOT NULL
) STRICT`;

const READ = `SELECT slot, fold, version, partition, changes FROM log
  WHERE fold = (SELECT fold FROM log WHERE slot = 1) ORDER BY slot`;
const WRITE = `INSERT INTO log (slot, fold, version, partition, changes) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET fold = excluded.fold, version = excluded.version, changes = excluded.changes`;

/** The size of the log. A commit that does not fit causes a fold. */
export type LogBounds = { slots: number; characters: number };

/** At most half a megabyte of UTF-8, which an object reads when it wakes. A stored row may have two megabytes. */
export const usualBounds: LogBounds = { slots: 128, characters: 128 * 1024 };

export type Log = {
  /** The number of folds. */
  fold: number;
  /** The slots in use, and the characters in them, not packed: a waking object parses them. */
  slots: number;
  characters: number;
  /** The least `OBJECT_VERSION` that reads the object. */
  version: number;
  /** The object's partition; undefined if nothing was ever written. */
  partition: Partition | undefined;
};

/**
 * Reads the log, with the last state of each row in it.
 *
 * @throws If a later version wrote rows that this one must not ignore.
 */
export function readLog(sql: Pick<SqlStorage, "exec">): { log: Log; changes: Iterable<StoredChange> } {
  const stored = sql.exec(READ).toArray();
  const last = stored.at(-1);
  const version = Number(last?.version ?? 1);
  if (version > OBJECT_VERSION) {
    throw new Error(`This object has rows of version ${version}, and this gateway reads version ${OBJECT_VERSION}.`);
  }
  const changes = new Map<string, StoredChange>();
  let characters = 0;
  for (const entry of stored) {
    const text = unpack(entry.changes);
    characters += text.length;
    for (const change of JSON.parse(text) as StoredChange[]) {
      changes.set(`${change.table} ${change.id}`, change);
    }
  }
  return {
    log: {
      fold: Number(last?.fold ?? 0),
      slots: stored.length,
      characters,
      version,
      partition: last === undefined ? undefined : String(last.partition),
    },
    changes: changes.values(),
  };
}

/** Writes the last slot in use. */
export function writeLog(sql: Pick<SqlStorage, "exec">, partition: Partition, log: Log, changes: string): void {
  sql.exec(WRITE, log.slots, log.fold, log.version, partition, changes);
}
