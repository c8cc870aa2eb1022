import assert from "node:assert/strict";
import { test } from "node:test";
import { makeKeptBytes } from "./kept-bytes.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const DAY = 86_400_000;
const LIMITS = { each: 100, all: 250 };

test("an account keeps as much as it may and not a byte more, and its refusals take nothing", () => {
  const kept = makeKeptBytes(LIMITS);
  assert.deepEqual([kept.take("account:a", 99, NOON), kept.take("account:a", 2, NOON)], [true, false]);
  assert.deepEqual([kept.take("account:a", 1, NOON), kept.take("account:a", 1, NOON)], [true, false]);
});

test("all accounts together keep as much as they may", () => {
  const kept = makeKeptBytes(LIMITS);
  const takes = ["a", "b", "c", "d"].map((name) => kept.take(`account:${name}`, 100, NOON));
  assert.deepEqual(takes, [true, true, false, false]);
  assert.ok(kept.take("account:c", 50, NOON));
});

test("the next day begins anew; a clock that goes back over midnight does not", () => {
  const kept = makeKeptBytes(LIMITS);
  assert.ok(kept.take("account:a", 100, NOON));
  assert.ok(kept.take("account:a", 100, NOON + DAY));
  assert.ok(!kept.take("account:a", 1, NOON));
});
