import assert from "node:assert/strict";
import { test } from "node:test";
import { makePace } from "./pace.ts";

function open() {
  const clock = { time: 0, now: () => clock.time };
  return { clock, pace: makePace(clock) };
}

test("what was sent after an answered request is taken from what the provider says is left", () => {
  const { pace } = open();
  const [first] = [pace.sent("k", "m"), pace.sent("k", "m"), pace.sent("k", "m")];
  pace.answered("k", "m", first, { limit: 20, remaining: 3, resetMs: 40_000 });
  assert.equal(pace.waitMs("k", "m"), 0);
  const last = pace.sent("k", "m");
  assert.equal(pace.waitMs("k", "m"), 40_000);
  assert.deepEqual([pace.waitMs("k", "other"), pace.waitMs("another", "m")], [0, 0]);
  pace.answered("k", "m", last, { limit: 20, remaining: 1, resetMs: 39_000 });
  assert.equal(pace.waitMs("k", "m"), 0);
});

test("at the reset a whole period's requests are there again", () => {
  const { clock, pace } = open();
  pace.answered("k", "m", pace.sent("k", "m"), { limit: 2, remaining: 0, resetMs: 5_000 });
  clock.time = 5_000;
  for (let left = 2; left > 0; left--) {
    assert.equal(pace.waitMs("k", "m"), 0);
    pace.sent("k", "m");
  }
  assert.equal(pace.waitMs("k", "m"), 60_000);
});

test("an answer of a period that is over, a far reset, and a clock that went back hold nothing up", () => {
  const { clock, pace } = open();
  for (const resetMs of [-1, 0, 86_400_000]) {
    pace.answered("k", "m", pace.sent("k", "m"), { limit: 1, remaining: 0, resetMs });
    assert.equal(pace.waitMs("k", "m"), 0, `${resetMs}`);
  }
  clock.time = 1e12;
  pace.answered("k", "m", pace.sent("k", "m"), { limit: null, remaining: 0, resetMs: 1_000 });
  clock.time = 0;
  assert.equal(pace.waitMs("k", "m"), 0);
});
