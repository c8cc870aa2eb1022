import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { makeLimiter } from "./limiter.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

/** Seconds to wait; 0 if it was admitted. */
function wait(limiter: ReturnType<typeof makeLimiter>, name: string, at: number): number {
  try {
    limiter.admit(name, at);
    return 0;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.detail.code === "rate_limited");
    return error.detail.retryAfterS ?? Number.NaN;
  }
}

for (const perMinute of [1, 7, 60, 1_000, 29_999]) {
  test(`${perMinute} at once are admitted, one more is not, and ${perMinute} more are a minute later`, () => {
    const limiter = makeLimiter(perMinute);
    const count = (at: number): number => {
      let admitted = 0;
      for (let left = perMinute + 10; left > 0; left--) if (wait(limiter, "a", at) === 0) admitted += 1;
      return admitted;
    };
    assert.equal(count(NOW), perMinute);
    assert.equal(count(NOW + 60_000), perMinute);
  });
}

test("who waits as long as was said is admitted, and who does not is not", () => {
  const limiter = makeLimiter(20);
  for (let left = 20; left > 0; left--) assert.equal(wait(limiter, "a", NOW), 0);
  assert.equal(wait(limiter, "a", NOW), 3);
  assert.equal(wait(limiter, "a", NOW + 1_000), 2);
  assert.equal(wait(limiter, "a", NOW + 3_000), 0);
  assert.equal(wait(limiter, "a", NOW + 3_000), 3);
});

test("names do not count against each other", () => {
  const limiter = makeLimiter(1);
  assert.deepEqual([wait(limiter, "a", NOW), wait(limiter, "b", NOW), wait(limiter, "a", NOW)], [0, 0, 60]);
});

const MOST_NAMES = 100_000;

test("any number of names takes no more than so much memory, and the last ones are counted", () => {
  const limiter = makeLimiter(1);
  for (let name = 0; name <= MOST_NAMES; name++) assert.equal(wait(limiter, String(name), NOW), 0);
  assert.equal(wait(limiter, String(MOST_NAMES), NOW), 60);
  const forgotten = Array.from({ length: 8 }, (_, name) => wait(limiter, String(name), NOW)).filter((s) => s === 0);
  assert.equal(forgotten.length, 1, "one of them has been forgotten");
});

test("who has used up the limit is not forgotten for a flood of other names", () => {
  const limiter = makeLimiter(4);
  const limited = ["a", "b", "c"];
  for (const name of limited) for (let left = 4; left > 0; left--) assert.equal(wait(limiter, name, NOW), 0);
  for (let name = 0; name < 3 * MOST_NAMES; name++) wait(limiter, String(name), NOW);
  for (const name of limited) assert.equal(wait(limiter, name, NOW), 15);
  for (let name = 0; name < MOST_NAMES; name++) wait(limiter, `later ${name}`, NOW + 60_000);
  assert.equal(wait(limiter, "a", NOW + 60_000), 0, "a minute later they are whole again");
});

test("without a limit everybody is admitted", () => {
  const limiter = makeLimiter(null);
  for (let left = 1_000; left > 0; left--) assert.equal(wait(limiter, "a", NOW), 0);
});
