import { setImmediate as nextTurn } from "node:timers/promises";
import { isDiskFull } from "./database.ts";
import type { RowLog } from "./row-log.ts";

/** Folds a log between commits, in parts that are small enough for requests to wait for. */
export type Folding = {
  /** After an append: folds soon, or after a time. */
  soon(): void;
  /** Before an append: folds until the log is no longer behind. */
  keepUp(): void;
  /** Folds everything that is in the log now. Rejects if that fails. */
  all(): Promise<void>;
  /** Stops folding by itself. */
  stop(): void;
};

type FoldingListeners = {
  /** All rows up to this number of the log are in their tables. */
  onFolded(number: number): void;
  /** A fold failed, and a retry would not help. */
  onFailed(error: unknown): void;
};

/** The longest time that the tables are behind the log. It bounds the rows in memory. */
const FOLD_AFTER_MS = 250;

export function foldInBetween(log: RowLog, { onFolded, onFailed }: FoldingListeners): Folding {
  /** Starts the next fold. An append does not postpone it, because steady traffic would postpone it forever. */
  let timer: NodeJS.Timeout | undefined;
  let isNext = false;
  let isStopped = false;

  function fold(): void {
    log.fold();
    onFolded(log.folded);
  }

  function soon(): void {
    if (log.isEmpty || isStopped) return;
    timer ??= setTimeout(part, FOLD_AFTER_MS).unref();
    if (isNext || !log.isDue) return;
    isNext = true;
    setImmediate(part);
  }

  function part(): void {
    isNext = false;
    clearTimeout(timer);
    timer = undefined;
    if (isStopped) return;
    try {
      fold();
      soon();
    } catch (error) {
      if (isDiskFull(error)) timer = setTimeout(part, FOLD_AFTER_MS).unref();
      else onFailed(error);
    }
  }

  return {
    soon,
    keepUp() {
      while (log.isBehind) fold();
    },
    async all() {
      const until = log.last;
      while (log.folded < until) {
        fold();
        await nextTurn();
      }
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
