import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "./seed.ts";

test("a random test draws the same values whenever it runs with the same seed", () => {
  const drawn = (): unknown[] => [fc.sample(fc.string(), 20), Array.from({ length: 20 }, seededRandom())];
  assert.deepEqual(drawn(), drawn());
  assert.equal(fc.readConfigureGlobal().seed, Number(process.env.FUZZ_SEED ?? 1));
});

test("random numbers cover the range from 0 to 1 evenly", () => {
  const tenths = Array.from({ length: 10_000 }, seededRandom()).map((number) => Math.floor(number * 10));
  for (let tenth = 0; tenth < 10; tenth++) {
    const times = tenths.filter((each) => each === tenth).length;
    assert.ok(times > 850 && times < 1_150, `${tenth}: ${times}`);
  }
});
