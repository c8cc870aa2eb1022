import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "./goals.ts";
import type { LedgerReading } from "./ledger-bench.ts";
import { costGrowth, ledgerRows } from "./summary.ts";

const reading = (scenario: string, round: number, cpuUsPerPair: number, target = "ours"): LedgerReading => ({
  scenario,
  target,
  round,
  result: { pairsPerSecond: 1000 * (round + 1), p50Ms: 1, p99Ms: null, allPairs: 10, openSeconds: 0, cpuUsPerPair },
  fsyncs: round === 0 ? null : { fsyncs: round, by: "perf" },
  fsyncsPerPair: round === 0 ? null : round / 10,
});

test("a pair's growth compares two scenarios of one target within each round", () => {
  const readings = [
    reading("few", 0, 10),
    reading("many", 0, 12),
    reading("few", 1, 100),
    reading("many", 1, 110),
    reading("few", 0, 1, "other"),
    reading("many", 0, 9, "other"),
  ];
  assert.ok(Math.abs((costGrowth(readings, "ours", ["few", "many"]) ?? 0) - 1.15) < 1e-9);
  assert.equal(costGrowth(readings, "other", ["few", "many"]), 9);
  assert.equal(costGrowth(readings, "ours", ["few", "none"]), undefined);
});

test("a row is the median of its rounds, and what a round did not measure is not a zero", () => {
  const [row, ...more] = ledgerRows([reading("few", 0, 10), reading("few", 1, 20), reading("few", 2, 90)]);
  assert.equal(more.length, 0);
  assert.equal(row?.pairsPerSecond, 2000);
  assert.equal(row?.cpuUsPerPair, 20);
  assert.equal(row?.fsyncs, 1.5);
  assert.equal(row?.p99Ms, null);
});

test("a verdict needs a figure, and goal and floor count as reached", () => {
  const goal = { goal: 6, floor: 3 };
  assert.equal(verdict(undefined, goal), "not measured");
  assert.equal(verdict(6, goal), "reached");
  assert.equal(verdict(3, goal), "short of the goal");
  assert.equal(verdict(2.99, goal), "past the floor");
  assert.equal(verdict(2.99, { goal: 3, floor: 6 }), "reached", "less is better where the goal is below the floor");
  assert.equal(verdict(6.01, { goal: 3, floor: 6 }), "past the floor");
});
