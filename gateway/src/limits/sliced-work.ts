import type { Timers } from "@inference/protocol/timers";

/**
 * Long computations in pieces, so that no request holds the event loop: of all of them together one piece runs in each
 * turn of the loop, and owners take turns. A piece is bounded by what it works on, never by a clock: at the edge time
 * stands still while code runs.
 */
export type SlicedWork = {
  /**
   * Runs a generator to its end, a piece up to each `yield`, and answers with what it returns or throws what it throws.
   * One owner's work is done in the order in which it came.
   */
  run<T>(owner: string, work: Generator<void, T>): Promise<T>;
};

type Job = { step(): void; settle: (() => void) | null };

export function makeSlicedWork(timers: Timers): SlicedWork {
  /** The first owner is the next one; whoever was served goes to the end. */
  const waiting = new Map<string, Job[]>();
  let pieces = 0;

  function runPiece(): void {
    const [next] = waiting;
    if (next === undefined) return;
    const [owner, [job, ...others]] = next as [string, [Job, ...Job[]]];
    pieces += 1;
    job.step();
    waiting.delete(owner);
    const left = job.settle === null ? [job, ...others] : others;
    if (left.length > 0) waiting.set(owner, left);
  }

  return {
    run<T>(owner: string, work: Generator<void, T>): Promise<T> {
      return new Promise((resolve, reject) => {
        const job: Job = {
          settle: null,
          step() {
            try {
              const { done, value } = work.next();
              if (done === true) job.settle = () => resolve(value);
            } catch (error) {
              job.settle = () => reject(error);
            }
          },
        };
        waiting.set(owner, [...(waiting.get(owner) ?? []), job]);
        // Every request waits with a timer of its own and is settled by it: at the edge a timer ends with its request,
        // and what one request's timer left undone another's goes on with.
        function wait(): void {
          const before = pieces;
          timers.after(0, () => {
            // Timers that were set in one turn fire in one turn: the first of them runs a piece.
            if (pieces === before) runPiece();
            if (job.settle === null) wait();
            else job.settle();
          });
        }
        wait();
      });
    },
  };
}

/** The same at once, in one piece. */
export function complete<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
