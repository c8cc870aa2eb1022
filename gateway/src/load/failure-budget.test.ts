import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { type Failure, makeFailureBudget } from "./failure-budget.ts";

const budget = { most: 6, windowMs: 30_000 };

function open(limit: typeof budget | null = budget) {
  const clock = { time: 0, now: () => clock.time };
  const failures = makeFailureBudget(limit, clock);
  /** Whether a request may be sent, or why not. */
  function admits(account: string, key = "master"): boolean | string {
    try {
      return failures.admits({ account, key });
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      return `${error.detail.code} ${error.detail.retryAfterS}`;
    }
  }
  return {
    clock,
    failures,
    admits,
    fail(account: string, times = 1, failure: Failure | null = "request", key = "master"): void {
      for (let left = times; left > 0; left--) {
        failures.sent({ account, key });
        failures.answered({ account, key }, failure);
      }
    },
  };
}

test("an account waits as long as its failures count, and no longer", () => {
  const { clock, admits, fail } = open();
  fail("a", 3);
  clock.time = 10_000;
  fail("a");
  assert.deepEqual([admits("a"), admits("b")], ["rate_limited 20", true]);
  clock.time = 29_999;
  assert.equal(admits("a"), "rate_limited 1");
  clock.time = 30_000;
  assert.equal(admits("a"), true);
});

test("accounts with failures wait while the budget is used up, and those without are served", () => {
  const { clock, admits, fail } = open();
  fail("a", 3);
  clock.time = 1_000;
  fail("b", 2);
  fail("c", 1);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((account) => admits(account)),
    [...Array(3).fill("rate_limited 29"), true],
  );
  clock.time = 30_000;
  assert.deepEqual(
    ["a", "b", "c"].map((account) => admits(account)),
    [true, true, true],
  );
});

test("failures of the provider count for the account alone, up to its part of the budget", () => {
  const { admits, fail } = open();
  for (const account of ["a", "b", "c", "d"]) fail(account, 3, "provider");
  assert.deepEqual([admits("a"), admits("d"), admits("e")], [true, true, true]);
  fail("a", 1, "provider");
  assert.deepEqual([admits("a"), admits("b")], ["rate_limited 30", true]);
});

test("each key at the provider has a budget of its own", () => {
  const { admits, fail } = open();
  fail("a", 4, "request", "the key of an identity");
  assert.deepEqual([admits("a", "the key of an identity"), admits("a")], ["rate_limited 30", true]);
});

test("a blocked key is not used until the block ends, and no other key is concerned", () => {
  for (const limit of [budget, null]) {
    const { clock, failures, admits } = open(limit);
    failures.blocked("master", 12_000);
    failures.blocked("master", 1_000);
    assert.deepEqual([admits("a"), admits("a", "another")], ["upstream_unavailable 12", true]);
    assert.equal(failures.standing("master").isBlocked, true);
    clock.time = 12_000;
    assert.deepEqual([admits("a"), failures.standing("master").isBlocked], [true, false]);
  }
});

test("a clock that goes back keeps no account waiting for longer", () => {
  const { clock, admits, fail } = open();
  clock.time = 3_600_000;
  fail("a", 4);
  clock.time = 0;
  assert.equal(admits("a"), "rate_limited 30");
  clock.time = 30_000;
  assert.equal(admits("a"), true);
});

test("without a budget no failure counts", () => {
  const { admits, fail } = open(null);
  fail("a", 100);
  assert.equal(admits("a"), true);
});
