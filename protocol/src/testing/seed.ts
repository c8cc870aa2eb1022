import { isMainThread } from "node:worker_threads";

/** The seed of all random tests of a run. `npm test` uses 1; the deep run chooses a new one and prints it. */
export const seed = Number(process.env.FUZZ_SEED ?? 1);

// The runner imports this file before the tests, and worker threads inherit the flag.
if (isMainThread) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
}

/** How often a property is checked: as given in `npm test`, thirty times as often in the deep run. */
export const runs = (count: number): number => (process.env.DEEP === "1" ? 30 * count : count);

/** Numbers from 0 to 1 (mulberry32), the same in each run with the same seed. */
export function seededRandom(): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
