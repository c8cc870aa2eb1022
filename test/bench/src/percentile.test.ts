import assert from "node:assert/strict";
import { test } from "node:test";
import { median, percentile, samples } from "./percentile.ts";

test("a percentile is a sample that was taken, by nearest rank", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  assert.equal(percentile(hundred, 50), 50);
  assert.equal(percentile(hundred, 99), 99);
  assert.equal(percentile(hundred, 100), 100);
  assert.equal(percentile([7], 99), 7);
  assert.equal(percentile([1, 2], 50), 1);
  assert.equal(percentile([1, 2], 51), 2);
  assert.ok(Number.isNaN(percentile([], 50)));
  assert.throws(() => percentile([1], 0), RangeError);
});

test("for any samples, the share at or below a percentile is at least what it says and none smaller has it", () => {
  let seed = 7;
  for (let round = 0; round < 200; round += 1) {
    const values = Array.from({ length: 1 + (round % 37) }, () => {
      seed = (seed * 48271) % 2147483647;
      return seed % 20;
    }).sort((a, b) => a - b);
    for (const percent of [1, 50, 90, 99, 100]) {
      const answer = percentile(values, percent);
      const atMost = values.filter((value) => value <= answer).length;
      const below = values.filter((value) => value < answer).length;
      assert.ok(atMost >= (percent / 100) * values.length);
      assert.ok(below < (percent / 100) * values.length);
    }
  }
});

test("the median does not depend on order", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

test("samples grow beyond their first room and come back ascending", () => {
  const taken = samples();
  for (let value = 10_000; value > 0; value -= 1) taken.add(value);
  const sorted = taken.sorted();
  assert.equal(sorted.length, 10_000);
  assert.equal(sorted[0], 1);
  assert.equal(percentile(sorted, 99), 9_900);
});
