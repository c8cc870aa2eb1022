import type { SqlStorage } from "@cloudflare/workers-types";
import type { Partition } from "@inference/ledger/partition";
import type { Change, Row, TableName } from "@inference/ledger/tables";

/**
 * The log of an object: its changes since the last fold, which writes them into the tables. Each commit is one row. The
 * log is a ring: a fold starts again at the first slot with the next number, and rows of older folds are ignored. So no
 * row is ever deleted, because a delete costs as much as a write.
 *
 * Rows are JSON with the names of their properties. A property that a row does not have stays unchanged: another
 * version may have written the row.
 */
export const CREATE_LOG = `CREATE TABLE log (
  slot INTEGER PRIMARY KEY, fold INTEGER NOT NULL, partition TEXT NOT NULL, changes TEXT NOT NULL
) STRICT`;

const READ = `SELECT slot, fold, partition, changes FROM log
  WHERE fold = (SELECT fold FROM log WHERE slot = 1) ORDER BY slot`;
const WRITE = `INSERT INTO log (slot, fold, partition, changes) VALUES (?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET fold = excluded.fold, changes = excluded.changes`;

/** The size of the log. A commit that does not fit causes a fold. */
export type LogBounds = { slots: number; characters: number };

/** At most half a megabyte of UTF-8, which an object reads when it wakes. A stored row may have two megabytes. */
export const usualBounds: LogBounds = { slots: 128, characters: 128 * 1024 };

/** The contents of the log, which are not in the tables. */
export type Log = {
  /** The number of folds. */
  fold: number;
  /** The slots in use, and the characters in them. */
  slots: number;
  characters: number;
  /** The object's partition; undefined if nothing was ever written. */
  partition: Partition | undefined;
  /** The last state of each row in the log. */
  changes: readonly Change[];
};

/** @param select Returns the rows of a statement. */
export function readLog(select: (statement: string) => readonly Readonly<Record<string, unknown>>[]): Log {
  const stored = select(READ);
  const changes = new Map<string, Change>();
  for (const entry of stored) {
    for (const change of JSON.parse(String(entry.changes)) as Change[]) {
      const name = `${change.table} ${change.id}`;
      const row = change.row === null ? null : { ...changes.get(name)?.row, ...change.row };
      changes.set(name, { ...change, row } as Change);
    }
  }
  const last = stored.at(-1);
  return {
    fold: Number(last?.fold ?? 0),
    slots: stored.length,
    characters: stored.reduce((sum, entry) => sum + String(entry.changes).length, 0),
    partition: last === undefined ? undefined : String(last.partition),
    changes: [...changes.values()],
  };
}

/** Writes the last slot in use. */
export function writeLog(sql: Pick<SqlStorage, "exec">, partition: Partition, log: Log, changes: string): void {
  sql.exec(WRITE, log.slots, log.fold, partition, changes);
}

export function changesText(changes: Iterable<{ table: TableName; id: string; row: Row | null }>): string {
  return JSON.stringify(Array.from(changes, ({ table, id, row }) => ({ table, id, row })));
}
