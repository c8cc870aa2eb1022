import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runs } from "./operations.ts";
import { play } from "./play.ts";
import type { OpenHost } from "./world.ts";

const OPERATIONS = 60;

/** Runs that once failed, by what they found. */
const knownSeeds: { seed: number; path?: string; found: string }[] = [
  { seed: 77, path: "1636", found: "a clock that is set back over midnight finds a limit's rows half deleted" },
  {
    seed: 1_611_711_706,
    path: "3512",
    found: "a restored account repeats a hold of a day that its limit has forgotten",
  },
];

type LawOptions = {
  numRuns: number;
  /** Runs that are played twice. */
  numRepeats: number;
  /** Repeats the runs that once failed. */
  withKnown?: boolean;
  /** Tells of a run that failed without looking for a shorter one, which on a slow host takes too long. */
  endOnFailure?: boolean;
};

/** The ledger's laws as tests, for every host that keeps its rows. */
export function testLaws(
  open: OpenHost,
  { numRuns, numRepeats, withKnown = true, endOnFailure = false }: LawOptions,
): void {
  const law = fc.asyncProperty(runs(OPERATIONS), async (run) => void (await play(run, open)));

  test("whatever happens in whatever order, the ledger answers as its model and every invariant holds", () =>
    fc.assert(law, { numRuns, endOnFailure }));

  for (const { seed, path, found } of withKnown ? knownSeeds : []) {
    test(`known: ${found}`, () => fc.assert(law, { seed, ...(path === undefined ? {} : { path }), numRuns: 1 }));
  }

  if (numRepeats === 0) return;
  test("the same operations make the same trace", async () => {
    for (const run of fc.sample(runs(OPERATIONS), { numRuns: numRepeats, seed: 1 })) {
      assert.deepEqual(await play(run, open), await play(run, open));
    }
  });
}
