import { Worker } from "node:worker_threads";
import { fileOf, type Synchronous } from "./database.ts";
import type { EncodedRows } from "./encoded-rows.ts";

/**
 * A thread that writes: it owns the file's lock and the connection that commits. While it waits for the disk,
 * requests go on, and what they change in the meantime is the next commit.
 */
export type CommitThread = {
  /** Resolves when the rows are durable, all of them; rejects if none of them is. */
  commit(rows: EncodedRows): Promise<void>;
  /** After the commits it was given. What comes later is rejected. */
  close(): Promise<void>;
};

export type CommitThreadData = { file: string; synchronous: Synchronous };
export type CommitThreadMessage = { ok: true } | { ok: false; message: string; errcode: number | null };

/** Locks and prepares the file. Throws one line if another gateway is using it. */
export async function startCommitThread(file: string, synchronous: Synchronous): Promise<CommitThread> {
  const workerData: CommitThreadData = { file: fileOf(file), synchronous };
  const worker = new Worker(new URL("./commit-worker.ts", import.meta.url), { workerData });
  /** Those who wait for an answer: the thread answers in the order it was asked. */
  const waiting: { resolve(): void; reject(error: Error): void }[] = [];
  let stopped: Error | undefined;
  let closing: Promise<void> | undefined;

  function answered(message: CommitThreadMessage): void {
    const first = waiting.shift();
    if (message.ok) first?.resolve();
    else first?.reject(new CommitError(message.message, message.errcode));
  }

  function stop(error: Error): void {
    stopped ??= error;
    for (const { reject } of waiting.splice(0)) reject(stopped);
  }

  function next(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (stopped !== undefined) reject(stopped);
      else waiting.push({ resolve, reject });
    });
  }

  async function close(): Promise<void> {
    const closed = next();
    worker.postMessage(null);
    await closed;
    await worker.terminate();
  }

  worker.on("message", answered);
  worker.on("error", stop);
  worker.on("exit", (code) => stop(new Error(`the commit thread ended with ${code}`)));
  await next();
  return {
    async commit(rows) {
      if (closing !== undefined) throw new Error("the commit thread is closing");
      const committed = next();
      worker.postMessage(rows);
      return committed;
    },
    close() {
      closing ??= close();
      return closing;
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
