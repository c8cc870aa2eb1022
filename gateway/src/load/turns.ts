import type { Timers } from "@inference/protocol/timers";
import { makeOwnerQueue } from "./owner-queue.ts";

/**
 * Spreads work that takes up to some milliseconds over turns of the event loop, so that many requests at once do not
 * block it. Owners take turns, and the work of one owner runs in the order of the calls.
 */
export type Turns = {
  /**
   * Runs work, and resolves to its result or rejects with its error. Each turn of the event loop starts work for a
   * millisecond. At the edge, where the clock does not advance while code runs, it is one call.
   */
  run<T>(owner: string, work: () => T): Promise<T>;
  /**
   * Resolves when it is the owner's turn. Nothing else runs in that turn of the event loop. For work with a promise,
   * which the waiting request must begin: at the edge a promise ends with the request that created it.
   */
  wait(owner: string): Promise<void>;
};

type Job = {
  /** Null until the job has run. */
  settle: (() => void) | null;
  run(): void;
  endsTurn: boolean;
};

/** How long work is begun in a turn of the event loop. */
const TURN_MS = 1;

/** @param options.everyMs The time from one turn with work to the next. At the edge there is none. */
export function makeTurns(timers: Timers, { everyMs = 0 }: { everyMs?: number } = {}): Turns {
  const waiting = makeOwnerQueue<Job>();
  let ran = 0;
  let isScheduled = false;
  let ranAt = Number.NEGATIVE_INFINITY;

  function runJobs(): void {
    const startedAt = timers.monotonicMs?.();
    ranAt = startedAt ?? ranAt;
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      ran += 1;
      job.run();
      if (startedAt !== undefined) job.settle?.();
      if (job.endsTurn || startedAt === undefined || elapsedSince(startedAt) >= TURN_MS) return;
    }
  }

  function elapsedSince(startedAt: number): number {
    return (timers.monotonicMs?.() ?? Number.POSITIVE_INFINITY) - startedAt;
  }

  /** Sets one timer for all jobs that wait. */
  function schedule(nowMs: number): void {
    if (isScheduled) return;
    isScheduled = true;
    timers.after(Math.max(0, ranAt + everyMs - nowMs), () => {
      isScheduled = false;
      runJobs();
      if (waiting.length > 0) schedule(ranAt);
    });
  }

  function enqueue(owner: string, job: Job): void {
    waiting.push(owner, job);
    // At the edge every request waits with its own timer, which settles it: a timer ends with its request, and the
    // timers of other requests then run the remaining jobs.
    function wait(): void {
      const before = ran;
      timers.after(0, () => {
        // Timers that were set in one turn fire in one turn. The first one runs jobs.
        if (ran === before) runJobs();
        if (job.settle === null) wait();
        else job.settle();
      });
    }
    const nowMs = timers.monotonicMs?.();
    if (nowMs === undefined) wait();
    else schedule(nowMs);
  }

  function call<T>(owner: string, work: () => T, { endsTurn }: Pick<Job, "endsTurn">): Promise<T> {
    return new Promise((resolve, reject) => {
      const job: Job = {
        settle: null,
        endsTurn,
        run() {
          try {
            const result = work();
            job.settle = () => resolve(result);
          } catch (error) {
            job.settle = () => reject(error);
          }
        },
      };
      enqueue(owner, job);
    });
  }

  return {
    run: (owner, work) => call(owner, work, { endsTurn: false }),
    wait: (owner) => call(owner, () => {}, { endsTurn: true }),
  };
}
