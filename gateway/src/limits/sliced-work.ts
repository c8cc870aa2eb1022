import { makeQueue, type Queue } from "@inference/protocol/queue";
import type { Timers } from "@inference/protocol/timers";

/**
 * Runs long computations in pieces, so that none blocks the event loop: pieces of all computations run for a
 * millisecond in each turn of the loop, and owners take turns. The size of a piece is bounded, not its time, because at
 * the edge the clock does not advance while code runs. There, one piece runs in each turn.
 */
export type SlicedWork = {
  /**
   * Runs a generator to its end, one piece up to each `yield`, and resolves to its result or rejects with its error.
   * The work of one owner runs in the order of the calls.
   */
  run<T>(owner: string, work: Generator<void, T>): Promise<T>;
  /** Resolves when it is the owner's turn. No more pieces run in that turn of the loop. */
  turn(owner: string): Promise<void>;
};

type Job = {
  step(): void;
  settle: (() => void) | null;
  /** The work follows after `settle`. */
  endsTurn: boolean;
};

/** How long pieces run in a turn of the event loop, before the last one ends. */
const TURN_MS = 1;

/** @param options.everyMs How long no more pieces run after those of a turn, where the clock advances. */
export function makeSlicedWork(timers: Timers, { everyMs = 0 }: { everyMs?: number } = {}): SlicedWork {
  /** The first owner has the next turn, and goes to the end after it. */
  const waiting = new Map<string, Queue<Job>>();
  let pieces = 0;
  let isScheduled = false;
  let ranAt = Number.NEGATIVE_INFINITY;

  function runPieces(): void {
    const startedAt = timers.monotonicMs?.();
    ranAt = startedAt ?? ranAt;
    for (const [owner, jobs] of waiting) {
      const job = jobs.first();
      waiting.delete(owner);
      if (job === undefined) continue;
      pieces += 1;
      job.step();
      if (job.settle !== null) jobs.shift();
      if (jobs.length > 0) waiting.set(owner, jobs);
      if (startedAt !== undefined) job.settle?.();
      if (job.endsTurn || startedAt === undefined || elapsedSince(startedAt) >= TURN_MS) return;
    }
  }

  function elapsedSince(startedAt: number): number {
    return (timers.monotonicMs?.() ?? Number.POSITIVE_INFINITY) - startedAt;
  }

  /** One timer for all that wait. */
  function schedule(nowMs: number): void {
    if (isScheduled) return;
    isScheduled = true;
    timers.after(Math.max(0, ranAt + everyMs - nowMs), () => {
      isScheduled = false;
      runPieces();
      if (waiting.size > 0) schedule(ranAt);
    });
  }

  function enqueue(owner: string, job: Job): void {
    const jobs = waiting.get(owner) ?? makeQueue<Job>();
    jobs.push(job);
    waiting.set(owner, jobs);
    // At the edge every request waits with its own timer, which settles it: a timer ends with its request, and the
    // timers of other requests then run the remaining pieces.
    function wait(): void {
      const before = pieces;
      timers.after(0, () => {
        // Timers that were set in one turn fire in one turn. The first one runs pieces.
        if (pieces === before) runPieces();
        if (job.settle === null) wait();
        else job.settle();
      });
    }
    const nowMs = timers.monotonicMs?.();
    if (nowMs === undefined) wait();
    else schedule(nowMs);
  }

  return {
    run<T>(owner: string, work: Generator<void, T>): Promise<T> {
      return new Promise((resolve, reject) => {
        const job: Job = {
          settle: null,
          endsTurn: false,
          step() {
            try {
              const { done, value } = work.next();
              if (done === true) job.settle = () => resolve(value);
            } catch (error) {
              job.settle = () => reject(error);
            }
          },
        };
        enqueue(owner, job);
      });
    },
    turn(owner) {
      return new Promise((resolve) => {
        const job: Job = {
          settle: null,
          endsTurn: true,
          step() {
            job.settle = resolve;
          },
        };
        enqueue(owner, job);
      });
    },
  };
}

/** Runs a generator to its end at once. */
export function complete<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
