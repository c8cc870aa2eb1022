import { Worker } from "node:worker_threads";
import { DiskFull, isDiskFull } from "./database.ts";
import type { FoldPlace, FoldResult } from "./fold-worker.ts";
import type { LogFiles, Piece } from "./log-files.ts";

/** Folds the log into the tables, in a thread that no commit waits for. */
export type Folding = {
  /** After an append: folds soon, or after a time. */
  soon(): void;
  /** Resolves once the log is small enough for another append. Rejects if it cannot be folded. */
  keepUp(): Promise<void>;
  /** Folds everything that is in the log now. Rejects if that fails. */
  all(): Promise<void>;
  /** Ends the thread. */
  stop(): Promise<void>;
};

type FoldingListeners = {
  /** All records up to this number are in the tables. */
  onFolded(number: number): void;
  /** A fold failed, and a retry would not help. */
  onFailed(error: unknown): void;
};

/** The changes of about 1,500 requests. Their counters and holds are then written once. */
const DUE_BYTES = 2 * 2 ** 20;
/** More than this is not kept in memory. */
const BEHIND_BYTES = 64 * 2 ** 20;
/** The longest time that the tables are behind the log. It bounds the rows in memory. */
const FOLD_AFTER_MS = 250;

export function openFolding(place: FoldPlace, log: LogFiles, { onFolded, onFailed }: FoldingListeners): Folding {
  let worker: Worker | undefined;
  /** Starts the next fold. An append does not postpone it, because steady traffic would postpone it forever. */
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let answer: { resolve(result: FoldResult): void; reject(error: unknown): void } | undefined;
  let isStopped = false;

  function fold(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    running ??= foldOnce().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function foldOnce(): Promise<void> {
    if (isStopped) throw new Error("the log is not folded any more");
    const pieces = log.unfolded();
    if (pieces.length === 0) return;
    const result = await askWorker(pieces);
    if ("error" in result) throw result.isFull ? new DiskFull(result.error) : new Error(result.error);
    log.folded(result.until);
    onFolded(result.until);
  }

  function askWorker(pieces: readonly Piece[]): Promise<FoldResult> {
    worker ??= startWorker();
    const asked = worker;
    asked.ref();
    asked.postMessage(pieces);
    return new Promise((resolve, reject) => {
      answer = { resolve, reject };
    });
  }

  function startWorker(): Worker {
    const started = new Worker(new URL("./fold-worker.ts", import.meta.url), {
      workerData: place,
      resourceLimits: { maxYoungGenerationSizeMb: 16 },
    });
    started.on("message", (result: FoldResult) => {
      started.unref();
      answer?.resolve(result);
    });
    started.on("error", (error) => answer?.reject(error));
    started.on("exit", () => {
      worker = undefined;
      answer?.reject(new Error("the thread that folds the log has ended"));
    });
    return started;
  }

  async function foldByItself(): Promise<void> {
    try {
      await fold();
      soon();
    } catch (error) {
      if (isStopped) return;
      if (isDiskFull(error)) startTimer();
      else onFailed(error);
    }
  }

  function startTimer(): void {
    timer ??= setTimeout(foldByItself, FOLD_AFTER_MS).unref();
  }

  function soon(): void {
    if (isStopped || log.unfoldedBytes === 0) return;
    if (running === undefined && log.unfoldedBytes >= DUE_BYTES) void foldByItself();
    else if (running === undefined) startTimer();
  }

  async function all(): Promise<void> {
    const until = log.last;
    for (let pieces = log.unfolded(); (pieces[0]?.first ?? until + 1) <= until; pieces = log.unfolded()) await fold();
  }

  return {
    soon,
    async keepUp() {
      while (log.unfoldedBytes >= BEHIND_BYTES) await fold();
    },
    all,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await worker?.terminate();
    },
  };
}
