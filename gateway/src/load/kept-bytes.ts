import type { Partition } from "@inference/ledger/partition";
import { DAY_MS, windowStart } from "@inference/protocol/window";

/**
 * Limits the bytes of answers that are kept for retries with an `Idempotency-Key`: they cost the client nothing, and
 * the operator a day of disk. An answer beyond the limit is not kept; its retry gets `idempotency_completed`. Counted
 * in memory, for each UTC day.
 */
export type KeptBytes = {
  /** Counts more bytes. False, and nothing counted, if they exceed a limit. */
  take(partition: Partition, bytes: number, atMs: number): boolean;
};

export function makeKeptBytes({ each, all }: { each: number; all: number }): KeptBytes {
  const taken = new Map<Partition, number>();
  let day = 0;
  let total = 0;
  return {
    take(partition, bytes, atMs) {
      const today = windowStart("day", atMs);
      // A clock that went back a little does not reset the counts.
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
