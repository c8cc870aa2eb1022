import { setImmediate as nextTurn } from "node:timers/promises";
import { isDiskFull } from "./database.ts";
import type { RowLog } from "./row-log.ts";

/** Folds a log while nothing is being committed, in parts as small as requests can wait for. */
export type Folding = {
  /** After an append: folds soon, at the latest after a while. */
  soon(): void;
  /** Before an append: folds until the log is not behind. */
  keepUp(): void;
  /** Folds all that is in the log now. Rejects if that fails. */
  all(): Promise<void>;
  /** Folds nothing any more by itself. */
  stop(): void;
};

export type FoldingListeners = {
  /** Up to which number all rows are in their tables. */
  onFolded(number: number): void;
  /** A fold failed, and trying again would not help. */
  onFailed(error: unknown): void;
};

/** The tables are behind by no more than this, and what is in memory because of it grows no longer. */
const FOLD_AFTER_MS = 250;

export function foldInBetween(log: RowLog, { onFolded, onFailed }: FoldingListeners): Folding {
  /** Starts the next fold. An append neither clears nor postpones it: under steady traffic there is always another. */
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
