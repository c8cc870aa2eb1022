import assert from "node:assert/strict";
import { test } from "node:test";
import { pairedDifference, pairedRatio } from "./ratio.ts";

const reading = (target: string, round: number, value: number) => ({ target, round, value });

test("a ratio pairs readings of one round, whatever order they came in", () => {
  const readings = [
    reading("ours", 1, 30),
    reading("bare", 0, 100),
    reading("bare", 2, 1000),
    reading("ours", 0, 60),
    reading("ours", 2, 700),
    reading("bare", 1, 40),
  ];
  // 0.6, 0.75 and 0.7 by rounds; the ratio of the two medians would be 0.6.
  assert.equal(pairedRatio(readings, "ours", "bare"), 0.7);
  assert.equal(pairedRatio(readings, "bare", "bare"), 1);
});

test("a difference pairs readings of one round too", () => {
  const readings = [reading("ours", 0, 30), reading("bare", 0, 10), reading("ours", 1, 8), reading("bare", 1, 9)];
  assert.equal(pairedDifference(readings, "ours", "bare"), 9.5);
});

test("a machine that slows down by rounds does not change the ratio", () => {
  const readings = [1, 10, 100].flatMap((speed, round) => [
    reading("ours", round, 3 * speed),
    reading("bare", round, 6 * speed),
  ]);
  assert.equal(pairedRatio(readings, "ours", "bare"), 0.5);
});

test("a round without its partner, or with a failed one, is left out", () => {
  const readings = [reading("ours", 0, 1), reading("ours", 1, 8), reading("bare", 1, 2), reading("ours", 2, 9)];
  assert.equal(pairedRatio([...readings, reading("bare", 2, 0)], "ours", "bare"), 4);
  assert.equal(pairedRatio(readings, "ours", "nginx"), undefined);
});
