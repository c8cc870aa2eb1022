import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { isDiskFull } from "./database.ts";
import type { FoldPlace, FoldRequest } from "./fold-worker.ts";
import type { LogFiles } from "./log-files.ts";

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
  const stopping = new AbortController();
  const stopped = stopping.signal;

  function fold(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    running ??= foldOnce().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function foldOnce(): Promise<void> {
    const records = log.unfolded();
    const { last } = log;
    if (records.length === 0) return;
    try {
      await askWorker({ records, first: last - records.length + 1 });
    } catch (error) {
      if (!stopped.aborted && !isDiskFull(error)) onFailed(error);
      throw error;
    }
    log.folded(last);
    onFolded(last);
  }

  async function askWorker(request: FoldRequest): Promise<void> {
    stopped.throwIfAborted();
    worker ??= new Worker(new URL("./fold-worker.ts", import.meta.url), {
      workerData: place,
      resourceLimits: { maxYoungGenerationSizeMb: 16 },
    });
    worker.ref();
    worker.postMessage(request);
    // Rejects if the thread fails or is stopped.
    const [result] = await once(worker, "message", { signal: stopped });
    worker.unref();
    if (result === "full") throw Object.assign(new Error("the disk is full"), { code: "ENOSPC" });
  }

  async function foldByItself(): Promise<void> {
    try {
      await fold();
      soon();
    } catch (error) {
      if (isDiskFull(error)) startTimer();
    }
  }

  function startTimer(): void {
    timer ??= setTimeout(foldByItself, FOLD_AFTER_MS).unref();
  }

  function soon(): void {
    if (running !== undefined || stopped.aborted || log.unfoldedBytes === 0) return;
    if (log.unfoldedBytes >= DUE_BYTES) void foldByItself();
    else startTimer();
  }

  return {
    soon,
    async keepUp() {
      while (log.unfoldedBytes >= BEHIND_BYTES) await fold();
    },
    async all() {
      // A fold that runs has only what was in the log when it began.
      await running;
      await fold();
    },
    async stop() {
      stopping.abort(new Error("the log is not folded any more"));
      clearTimeout(timer);
      await worker?.terminate();
    },
  };
}
