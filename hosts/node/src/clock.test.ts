import assert from "node:assert/strict";
import { test } from "node:test";
import { makeSteadyClock } from "./clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A wall clock that can be set, beside one that cannot. */
function makeClocks(startedAt = 1_000_000_000) {
  const state = { wall: startedAt, elapsed: 5_000, jumps: [] as number[] };
  const now = makeSteadyClock({
    wall: () => state.wall,
    monotonic: () => state.elapsed,
    onJump: (ms) => state.jumps.push(ms),
  });
  return {
    state,
    now,
    pass(ms: number, driftMs = 0): number {
      state.wall += ms + driftMs;
      state.elapsed += ms;
      return now();
    },
    jump(ms: number): number {
      state.wall += ms;
      return now();
    },
  };
}

test("time passes as on the wall", () => {
  const { state, now, pass } = makeClocks();
  assert.equal(now(), state.wall);
  for (const ms of [1, 999, MINUTE, 24 * HOUR]) assert.equal(pass(ms), state.wall);
  assert.deepEqual(state.jumps, []);
});

for (const ms of [HOUR, -HOUR, 24 * HOUR, -24 * HOUR, 1_001, -1_001]) {
  test(`a wall clock that jumps by ${ms} ms is not followed for a minute, and then believed`, () => {
    const { state, now, pass, jump } = makeClocks();
    const before = now();
    assert.equal(jump(ms), before);
    assert.deepEqual(state.jumps, [ms], "it is told at once, and once");
    assert.equal(pass(MINUTE - 1), before + MINUTE - 1);
    // The look that believes it moves the clock.
    assert.equal(pass(1), state.wall);
    assert.equal(pass(10), state.wall);
    assert.deepEqual(state.jumps, [ms]);
  });
}

test("a clock that is corrected little by little is followed, however far it goes", () => {
  const { state, pass } = makeClocks();
  for (let step = 0; step < 100; step++) assert.equal(pass(10_000, 1_000), state.wall);
  for (let step = 0; step < 200; step++) assert.equal(pass(10_000, -1_000), state.wall);
  assert.deepEqual(state.jumps, []);
});

test("a jump that is taken back within the minute never happened", () => {
  const { state, now, pass, jump } = makeClocks();
  const before = now();
  jump(HOUR);
  pass(MINUTE / 2);
  assert.equal(jump(-HOUR), before + MINUTE / 2);
  assert.equal(pass(10 * MINUTE), before + MINUTE / 2 + 10 * MINUTE);
  assert.deepEqual(state.jumps, [HOUR]);
});

test("a second jump of the clock restarts the minute", () => {
  const { state, now, pass, jump } = makeClocks();
  const before = now();
  jump(HOUR);
  pass(MINUTE - 1);
  jump(HOUR);
  assert.deepEqual(state.jumps, [HOUR, 2 * HOUR]);
  assert.equal(pass(MINUTE - 1), before + 2 * (MINUTE - 1), "the first minute does not count for the second jump");
  assert.equal(pass(1), state.wall);
});

test("a clock that never stops jumping is never believed", () => {
  const { state, now, pass, jump } = makeClocks();
  const before = now();
  for (let second = 0; second < 300; second++) {
    jump(second % 2 === 0 ? HOUR : -HOUR);
    pass(1_000);
  }
  assert.equal(now(), before + 300_000);
  assert.ok(state.jumps.length > 100);
});

test("time is a whole number of milliseconds", () => {
  let wall = 1_000;
  let elapsed = 0.25;
  const now = makeSteadyClock({ wall: () => wall, monotonic: () => elapsed, onJump: () => assert.fail("it jumped") });
  for (let step = 0; step < 1_000; step++) {
    wall += 1;
    elapsed += 1.000_3;
    assert.ok(Number.isInteger(now()));
  }
});
