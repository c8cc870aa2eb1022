import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { makeBreaker } from "./breaker.ts";

const LIMIT = { failures: 10, openMs: 5_000 };
const NOW = Date.UTC(2026, 10, 21, 12);

/** Seconds to wait; 0 if it was let through. */
function wait(breaker: ReturnType<typeof makeBreaker>, model: string, at: number): number {
  try {
    breaker.admit(model, at);
    return 0;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.detail.code === "upstream_unavailable");
    return error.detail.retryAfterS ?? Number.NaN;
  }
}

function failing(times: number) {
  const breaker = makeBreaker(LIMIT);
  for (let left = times; left > 0; left--) {
    assert.equal(wait(breaker, "a", NOW), 0);
    breaker.failed("a", NOW);
  }
  return breaker;
}

test("it opens with the last of so many failures in a row, and not one before", () => {
  assert.equal(wait(failing(LIMIT.failures - 1), "a", NOW), 0);
  assert.equal(wait(failing(LIMIT.failures), "a", NOW), LIMIT.openMs / 1000);
});

test("a success in between begins the count anew", () => {
  const breaker = failing(LIMIT.failures - 1);
  breaker.succeeded("a");
  for (let left = LIMIT.failures - 1; left > 0; left--) breaker.failed("a", NOW);
  assert.equal(wait(breaker, "a", NOW), 0);
});

test("one request tries it when the time is over; the others wait until it succeeds", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  assert.ok(wait(breaker, "a", later - 1) > 0);
  assert.deepEqual([wait(breaker, "a", later), wait(breaker, "a", later) > 0], [0, true]);
  breaker.succeeded("a");
  assert.deepEqual([wait(breaker, "a", later), wait(breaker, "a", later)], [0, 0]);
});

test("a try that fails, or is never heard of again, keeps it open as long again", () => {
  for (const isHeardOf of [true, false]) {
    const breaker = failing(LIMIT.failures);
    const later = NOW + LIMIT.openMs;
    assert.equal(wait(breaker, "a", later), 0);
    if (isHeardOf) breaker.failed("a", later);
    assert.ok(wait(breaker, "a", later + LIMIT.openMs - 1) > 0);
    assert.equal(wait(breaker, "a", later + LIMIT.openMs), 0);
  }
});

test("who only looks takes nobody's turn to try", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  assert.throws(() => breaker.check("a", later - 1), GatewayError);
  for (let left = 100; left > 0; left--) breaker.check("a", later);
  assert.equal(wait(breaker, "a", later), 0);
  assert.throws(() => breaker.check("a", later), GatewayError);
});

test("a try that was given up here leaves it to the next one", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  assert.equal(wait(breaker, "a", later), 0);
  breaker.gaveUp("a");
  assert.deepEqual([wait(breaker, "a", later), wait(breaker, "a", later) > 0], [0, true]);
});

test("one model's failures cut off no other", () => {
  const breaker = failing(LIMIT.failures);
  assert.equal(wait(breaker, "b", NOW), 0);
  assert.deepEqual([breaker.cutOff(NOW), breaker.cutOff(NOW + LIMIT.openMs)], [1, 0]);
});

test("without a limit no number of failures opens it", () => {
  const breaker = makeBreaker(null);
  for (let left = 1_000; left > 0; left--) breaker.failed("a", NOW);
  assert.deepEqual([wait(breaker, "a", NOW), breaker.cutOff(NOW)], [0, 0]);
});
