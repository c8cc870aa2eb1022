import { serialize } from "node:v8";
import { Worker } from "node:worker_threads";
import { fileOf } from "./database.ts";
import type { EncodedRows } from "./encoded-rows.ts";
import type { Synchronous } from "./row-log.ts";

/**
 * A thread that writes: it owns the file's lock and the connection that commits. While it waits for the disk,
 * requests go on, and what they change in the meantime is the next commit.
 */
export type CommitThread = {
  /** Resolves, with its number, when the rows are durable, all of them; rejects if none of them is. */
  commit(rows: EncodedRows): Promise<number>;
  /** Resolves when all rows that are durable are in their tables too. */
  fold(): Promise<void>;
  /** The listener is told, now and then, up to which number all rows are in their tables. There is one at a time. */
  onFolded(listener: (number: number) => void): void;
  /** The listener is told if the thread ends by itself: nothing can be written any more, and the lock is gone. */
  onStopped(listener: (error: Error) => void): void;
  /** After the commits it was given. What comes later is rejected. */
  close(): Promise<void>;
};

export type CommitThreadData = { file: string; synchronous: Synchronous };
/** Rows to append to the log, or what else is to be done. */
export type Asked = Uint8Array | "fold" | "close";
/** An answer, or what is told without being asked. */
export type CommitThreadMessage =
  | { ok: true; number: number }
  | { ok: false; message: string; errcode: number | null }
  | { folded: number };

/** Locks and prepares the file. Throws one line if another gateway is using it. */
export async function startCommitThread(file: string, synchronous: Synchronous): Promise<CommitThread> {
  const workerData: CommitThreadData = { file: fileOf(file), synchronous };
  const worker = new Worker(new URL("./commit-worker.ts", import.meta.url), { workerData });
  /** Those who wait for an answer: the thread answers in the order it was asked. */
  const waiting: { resolve(number: number): void; reject(error: Error): void }[] = [];
  let folded: (number: number) => void = () => undefined;
  let ended: (error: Error) => void = () => undefined;
  let stopped: Error | undefined;
  let closing: Promise<void> | undefined;

  function heard(message: CommitThreadMessage): void {
    if ("folded" in message) {
      folded(message.folded);
      return;
    }
    const first = waiting.shift();
    if (message.ok) first?.resolve(message.number);
    else first?.reject(new CommitError(message.message, message.errcode));
  }

  function stop(error: Error): void {
    if (stopped !== undefined) return;
    stopped = error;
    for (const { reject } of waiting.splice(0)) reject(stopped);
    if (closing === undefined) ended(stopped);
  }

  function next(): Promise<number> {
    return new Promise((resolve, reject) => {
      if (stopped !== undefined) reject(stopped);
      else waiting.push({ resolve, reject });
    });
  }

  function ask(asked: Asked): Promise<number> {
    const answer = next();
    worker.postMessage(asked);
    return answer;
  }

  async function close(): Promise<void> {
    await ask("close");
    await worker.terminate();
  }

  worker.on("message", heard);
  worker.on("error", stop);
  worker.on("exit", (code) => stop(new Error(`the commit thread ended with ${code}`)));
  await next();
  return {
    async commit(rows) {
      if (closing !== undefined) throw new Error("the commit thread is closing");
      return ask(serialize(rows));
    },
    async fold() {
      if (closing === undefined) await ask("fold");
    },
    onFolded(listener) {
      folded = listener;
    },
    onStopped(listener) {
      ended = listener;
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
