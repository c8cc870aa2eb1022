import type { Partition } from "@inference/ledger/partition";
import { DAY_MS, windowStart } from "@inference/protocol/window";

/**
 * How much of answers is kept to be sent again: keeping one costs its asker next to nothing, and the operator a day of
 * disk. What does not fit is not kept, and then answered with `idempotency_completed`. Counted by UTC day, in memory.
 */
export type KeptBytes = {
  /** Whether so many more bytes may be kept. Takes them if so. */
  take(partition: Partition, bytes: number, atMs: number): boolean;
};

export function makeKeptBytes({ each, all }: { each: number; all: number }): KeptBytes {
  const taken = new Map<Partition, number>();
  let day = 0;
  let total = 0;
  return {
    take(partition, bytes, atMs) {
      const today = windowStart("day", atMs);
      // A clock that went back a little gives nobody anything.
      if (today > day || day - today > DAY_MS) {
        taken.clear();
        [day, total] = [today, 0];
      }
      const own = (taken.get(partition) ?? 0) + bytes;
      if (own > each || total + bytes > all) return false;
      taken.set(partition, own);
      total += bytes;
      return true;
    },
  };
}
