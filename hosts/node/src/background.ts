import { resultWithin } from "@inference/protocol/timers";
import { timers } from "./timers.ts";

/** Work that goes on after its answer was sent. A stop waits for it. */
export type Background = {
  add(work: Promise<unknown>): void;
  /** Resolves when all work has ended, or after this time. */
  settled(withinMs: number): Promise<void>;
};

export function makeBackground(): Background {
  const running = new Set<Promise<unknown>>();
  return {
    add(work) {
      running.add(work);
      const done = (): void => {
        running.delete(work);
      };
      work.then(done, done);
    },
    async settled(withinMs) {
      const all = async (): Promise<void> => {
        while (running.size > 0) await Promise.allSettled(running);
      };
      await resultWithin(timers, withinMs, all()).catch(() => undefined);
    },
  };
}
