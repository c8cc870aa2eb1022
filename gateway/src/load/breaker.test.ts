import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { makeBreaker } from "./breaker.ts";

const LIMIT = { failures: 10, openMs: 5_000 };
const NOW = Date.UTC(2026, 10, 21, 12);

/** Seconds to wait; 0 if it was let through. */
function wait(breaker: ReturnType<typeof makeBreaker>, model: string, at: number, account = "account:new"): number {
  try {
    breaker.admit(model, account, at);
    return 0;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.detail.code === "upstream_unavailable");
    return error.detail.retryAfterS ?? Number.NaN;
  }
}

/** Requests of one account after another's have failed. */
function failing(times: number) {
  const breaker = makeBreaker(LIMIT);
  for (let left = times; left > 0; left--) {
    assert.equal(wait(breaker, "a", NOW), 0);
    breaker.failed("a", `account:${left}`, NOW);
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
  for (let left = LIMIT.failures - 1; left > 0; left--) breaker.failed("a", `account:${left}`, NOW);
  assert.equal(wait(breaker, "a", NOW), 0);
});

test("however many of one account's requests fail, they are one failure", () => {
  const breaker = failing(LIMIT.failures - 2);
  for (let left = 1_000; left > 0; left--) breaker.failed("a", "account:one", NOW);
  assert.equal(wait(breaker, "a", NOW), 0);
  breaker.failed("a", "account:other", NOW);
  assert.equal(wait(breaker, "a", NOW), LIMIT.openMs / 1000);
});

test("what no request has a part in counts each time", () => {
  const breaker = makeBreaker(LIMIT);
  for (let left = LIMIT.failures; left > 0; left--) {
    assert.equal(wait(breaker, "a", NOW), 0);
    breaker.failed("a", null, NOW);
  }
  assert.equal(wait(breaker, "a", NOW), LIMIT.openMs / 1000);
});

test("an account whose request failed lets the others try first, and tries when none of them did", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  assert.equal(wait(breaker, "a", later, "account:1"), LIMIT.openMs / 1000);
  assert.equal(wait(breaker, "a", later, "account:new"), 0);
  breaker.failed("a", "account:new", later);
  const muchLater = later + LIMIT.openMs;
  assert.ok(wait(breaker, "a", muchLater, "account:new") > 0, "it has had its try");
  assert.equal(wait(breaker, "a", muchLater + LIMIT.openMs, "account:new"), 0);
});

test("requests that fail while it is open keep it open no longer", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  for (let left = 100; left > 0; left--) breaker.failed("a", `account:late${left}`, later - 1);
  assert.equal(wait(breaker, "a", later), 0);
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
    if (isHeardOf) breaker.failed("a", null, later);
    assert.ok(wait(breaker, "a", later + LIMIT.openMs - 1) > 0);
    assert.equal(wait(breaker, "a", later + LIMIT.openMs), 0);
  }
});

test("who only looks takes nobody's turn to try", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  assert.throws(() => breaker.check("a", "account:new", later - 1), GatewayError);
  for (let left = 100; left > 0; left--) breaker.check("a", "account:new", later);
  assert.equal(wait(breaker, "a", later), 0);
  assert.throws(() => breaker.check("a", "account:new", later), GatewayError);
});

test("a try that was given up here leaves it to the next one", () => {
  const breaker = failing(LIMIT.failures);
  const later = NOW + LIMIT.openMs;
  assert.equal(wait(breaker, "a", later), 0);
  breaker.gaveUp("a", later);
  assert.deepEqual([wait(breaker, "a", later), wait(breaker, "a", later) > 0], [0, true]);
});

test("a request that was under way when it opened and is given up opens it for nobody", () => {
  const breaker = failing(LIMIT.failures - 1);
  assert.equal(wait(breaker, "a", NOW - 1), 0);
  breaker.failed("a", "account:last", NOW);
  breaker.gaveUp("a", NOW - 1);
  assert.equal(wait(breaker, "a", NOW), LIMIT.openMs / 1000);
  const later = NOW + LIMIT.openMs;
  assert.equal(wait(breaker, "a", later), 0);
  breaker.gaveUp("a", NOW - 1);
  assert.ok(wait(breaker, "a", later) > 0, "another one is trying it");
});

test("one model's failures cut off no other", () => {
  const breaker = failing(LIMIT.failures);
  assert.equal(wait(breaker, "b", NOW), 0);
  assert.deepEqual([breaker.cutOff(NOW), breaker.cutOff(NOW + LIMIT.openMs)], [1, 0]);
});

test("without a limit no number of failures opens it", () => {
  const breaker = makeBreaker(null);
  for (let left = 1_000; left > 0; left--) breaker.failed("a", null, NOW);
  assert.deepEqual([wait(breaker, "a", NOW), breaker.cutOff(NOW)], [0, 0]);
});
