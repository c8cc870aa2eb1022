import { Worker } from "node:worker_threads";
import type { Environment } from "@inference/gateway/environment";
import type { ReadBody, SentBodyJob } from "@inference/gateway/inference/requests/body-job";
import { makeOwnerQueue } from "@inference/gateway/load/owner-queue";
import type { BodyMessage, BodyThreadData } from "./body-worker.ts";

/** Reads large bodies in a worker thread, one at a time. Accounts take turns. The thread starts with the first body. */
export type BodyThread = {
  read: NonNullable<Environment["readLargeBody"]>;
  stop(): Promise<void>;
};

type Waiting = { job: SentBodyJob; result: PromiseWithResolvers<ReadBody<unknown>> };

export function openBodyThread({ secret, previousSecret }: BodyThreadData): BodyThread {
  const waiting = makeOwnerQueue<Waiting>();
  let worker: Worker | undefined;
  let current: Waiting | undefined;
  /** The prices that the thread has. */
  let sent: string | null | undefined;

  function startWorker(): Worker {
    const started = new Worker(new URL("./body-worker.ts", import.meta.url), {
      workerData: { secret, previousSecret } satisfies BodyThreadData,
    });
    started.on("message", (read: ReadBody<unknown>) => {
      current?.result.resolve(read);
      next();
    });
    started.on("error", (error) => {
      worker = undefined;
      current?.result.reject(error);
      next();
    });
    sent = undefined;
    return started;
  }

  function next(): void {
    current = waiting.shift();
    if (current === undefined) {
      worker?.unref();
      return;
    }
    worker ??= startWorker();
    worker.ref();
    const { snapshot, ...job } = current.job;
    const id = snapshot?.id ?? null;
    const message: BodyMessage = id === sent ? job : { ...job, snapshot };
    sent = id;
    worker.postMessage(message, buffersOf(job.blocks));
  }

  return {
    read(job) {
      const result = Promise.withResolvers<ReadBody<unknown>>();
      waiting.push(job.context.account, { job, result });
      if (current === undefined) next();
      return result.promise;
    },
    async stop() {
      await worker?.terminate();
    },
  };
}

/** Blocks that have memory of their own are moved. Others are copied. */
function buffersOf(blocks: readonly Uint8Array[]): ArrayBuffer[] {
  const own = blocks.filter(({ buffer, length }) => buffer.byteLength === length);
  return [...new Set(own.map(({ buffer }) => buffer as ArrayBuffer))];
}
