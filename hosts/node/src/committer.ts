import { Worker } from "node:worker_threads";
import type { Changes } from "./commit.ts";
import type { CommitPlace, CommitResult } from "./commit-worker.ts";

/** Writes commits in a worker thread, one at a time. */
export type Committer = {
  /** Resolves when the changes are durable. After any error but a full disk, no other commit succeeds. */
  commit(changes: Changes): Promise<void>;
  /** Ends the thread. The caller waits for its commit first. */
  stop(): Promise<void>;
};

export function openCommitter(place: CommitPlace): Committer {
  let worker: Worker | undefined;
  let current: PromiseWithResolvers<void> | undefined;

  function startWorker(): Worker {
    const started = new Worker(new URL("./commit-worker.ts", import.meta.url), {
      workerData: place,
      resourceLimits: { maxYoungGenerationSizeMb: 16 },
    });
    started.on("message", (result: CommitResult) => {
      started.unref();
      if (result === "durable") current?.resolve();
      else current?.reject(Object.assign(new Error("the disk is full"), { code: "ENOSPC" }));
    });
    started.on("error", (error) => current?.reject(error));
    started.on("exit", () => current?.reject(new Error("the thread that commits has ended")));
    return started;
  }

  return {
    commit(changes) {
      worker ??= startWorker();
      current = Promise.withResolvers();
      worker.ref();
      worker.postMessage(changes);
      return current.promise;
    },
    async stop() {
      await worker?.terminate();
    },
  };
}
