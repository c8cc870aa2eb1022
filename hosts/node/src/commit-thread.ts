import { Worker } from "node:worker_threads";
import type { Synchronous } from "./database.ts";
import type { EncodedRows } from "./encoded-rows.ts";

/**
 * A thread that writes: it owns the file's lock and the connection that commits. While it waits for the disk,
 * requests go on, and what they change in the meantime is the next commit.
 */
export type CommitThread = {
  /** Resolves when the rows are durable, all of them; rejects if none of them is. */
  commit(rows: EncodedRows): Promise<void>;
  close(): Promise<void>;
};

export type CommitThreadData = { file: string; synchronous: Synchronous };
export type CommitThreadMessage = { ok: true } | { ok: false; message: string; errcode: number | null };

/** Locks and prepares the file. Throws one line if another gateway is using it. */
export async function startCommitThread(file: string, synchronous: Synchronous): Promise<CommitThread> {
  const workerData: CommitThreadData = { file, synchronous };
  const worker = new Worker(new URL("./commit-worker.ts", import.meta.url), { workerData });
  let waiting: { resolve(): void; reject(error: Error): void } | undefined;
  let stopped: Error | undefined;

  function answered(message: CommitThreadMessage): void {
    const current = waiting;
    waiting = undefined;
    if (message.ok) current?.resolve();
    else current?.reject(new CommitError(message.message, message.errcode));
  }

  function stop(error: Error): void {
    stopped = error;
    waiting?.reject(error);
    waiting = undefined;
  }

  function next(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (stopped !== undefined) reject(stopped);
      else waiting = { resolve, reject };
    });
  }

  worker.on("message", answered);
  worker.on("error", stop);
  worker.on("exit", (code) => stop(new Error(`the commit thread ended with ${code}`)));
  await next();
  return {
    commit(rows) {
      const committed = next();
      worker.postMessage(rows);
      return committed;
    },
    async close() {
      const closed = next();
      worker.postMessage(null);
      await closed;
      await worker.terminate();
    },
  };
}

/** An error of SQLite, with its result code as `node:sqlite` gives it. */
export class CommitError extends Error {
  override name = "CommitError";
  readonly errcode: number | null;
  constructor(message: string, errcode: number | null) {
    super(message);
    this.errcode = errcode;
  }
}
