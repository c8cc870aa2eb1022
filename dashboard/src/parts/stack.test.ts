import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { colorOf, stackOf, ticksOf } from "./stack.ts";

const bars = ["a", "b", "c"].map((id) => ({ id, label: id, title: id }));
const row = fc.record({
  bar: fc.constantFrom("a", "b", "c"),
  name: fc.constantFrom("1", "2", "3", "4", "5", "6", "7", "8", "other"),
  nanoUsd: fc.nat(1e12),
});

test("the sums of the series, of the bars and of their parts are the sum of the rows", () => {
  const sum = (all: readonly number[]) => all.reduce((one, other) => one + other, 0);
  const property = fc.property(fc.array(row), (rows) => {
    const stack = stackOf(rows, bars);
    const whole = sum(rows.map(({ nanoUsd }) => nanoUsd));
    equal(stack.nanoUsd, whole);
    equal(sum(stack.series.map(({ nanoUsd }) => nanoUsd)), whole);
    equal(sum(stack.bars.map(({ nanoUsd }) => nanoUsd)), whole);
    for (const bar of stack.bars) equal(sum(bar.parts), bar.nanoUsd);
    stack.series.forEach(({ nanoUsd }, index) => {
      equal(sum(stack.bars.map(({ parts }) => parts[index] ?? 0)), nanoUsd);
    });
    ok(stack.series.length <= 6);
    equal(new Set(stack.series.map((series, index) => colorOf(index, series))).size, stack.series.length);
  });
  fc.assert(property, { seed: 1 });
});

test("a row outside the bars is an error, and is not left out of the sums", () => {
  throws(() => stackOf([{ bar: "d", name: "1", nanoUsd: 1 }], bars), /outside the range/);
});

test("an axis has three to five round ticks, and ends above the largest bar", () => {
  deepEqual(ticksOf(916_000_000), [0, 250_000_000, 500_000_000, 750_000_000, 1_000_000_000]);
  deepEqual(ticksOf(0), [0, 1, 2]);
  for (let most = 1; most < 1e13; most = most * 3 + 1) {
    const ticks = ticksOf(most);
    ok(ticks.length >= 3 && ticks.length <= 5 && (ticks.at(-1) ?? 0) >= most, `${most}`);
    ok(ticks.every(Number.isInteger), `${most}`);
  }
});
