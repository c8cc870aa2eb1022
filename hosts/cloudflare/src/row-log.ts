import type { SqlStorage } from "@cloudflare/workers-types";
import type { Partition } from "@inference/ledger/partition";
import type { Change, Row, TableName } from "@inference/ledger/tables";

/**
 * The log of an object: what its commands changed since its tables were written last, each commit one row, whatever
 * it changed. It is a ring: a fold, which writes the tables, begins again at its first slot under the next number, and
 * what older folds left behind it means nothing any more. So nothing is ever deleted, which costs as much as writing.
 *
 * Rows are JSON with the names of their properties. What one does not name stays as it was: another version wrote it.
 */
export const CREATE_LOG = `CREATE TABLE log (
  slot INTEGER PRIMARY KEY, fold INTEGER NOT NULL, partition TEXT NOT NULL, changes TEXT NOT NULL
) STRICT`;

const READ = `SELECT slot, fold, partition, changes FROM log
  WHERE fold = (SELECT fold FROM log WHERE slot = 1) ORDER BY slot`;
const WRITE = `INSERT INTO log (slot, fold, partition, changes) VALUES (?, ?, ?, ?)
  ON CONFLICT (slot) DO UPDATE SET fold = excluded.fold, changes = excluded.changes`;

/** How much may be in the log: a commit for which there is no room writes the tables. */
export type LogBounds = { slots: number; letters: number };

/** Half a megabyte at most in UTF-8, where a row may have two, and what an object has to read when it wakes. */
export const usualBounds: LogBounds = { slots: 128, letters: 128 * 1024 };

/** What is in the log and not in the tables. */
export type Log = {
  /** How often the tables were written. */
  fold: number;
  /** How many of its slots are taken, with how many letters. */
  slots: number;
  letters: number;
  /** Whose it is; undefined: nothing was ever written. */
  partition: Partition | undefined;
  /** The last state of each row, as far as the log names it. */
  changes: readonly Change[];
};

/** @param select Answers the rows of a statement. */
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
    letters: stored.reduce((sum, entry) => sum + String(entry.changes).length, 0),
    partition: last === undefined ? undefined : String(last.partition),
    changes: [...changes.values()],
  };
}

/** Writes the slot that was taken last. */
export function writeLog(sql: Pick<SqlStorage, "exec">, partition: Partition, log: Log, changes: string): void {
  sql.exec(WRITE, log.slots, log.fold, partition, changes);
}

export function changesText(changes: Iterable<{ table: TableName; id: string; row: Row | null }>): string {
  return JSON.stringify(Array.from(changes, ({ table, id, row }) => ({ table, id, row })));
}
