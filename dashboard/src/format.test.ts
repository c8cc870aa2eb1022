import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { leftUsd, shortUsd, usedUsd } from "./format.ts";

test("a remaining amount is rounded down, so that it can be spent; a spent one to the nearest", () => {
  const amounts = [4_996_000_000, 5_000_000_000, 9_999_999, 19_999, 1_995, 9, 0];
  deepEqual(
    amounts.map((nano) => leftUsd(nano)),
    ["$4.99", "$5.00", "$0.0099", "$0.000019", "$0.0000019", "$0.000000009", "$0.00"],
  );
  deepEqual(amounts.map(shortUsd), ["$5.00", "$5.00", "$0.01", "$0.00002", "$0.000002", "$0.000000009", "$0.00"]);
});

test("an overspent amount is not shown as less", () => {
  deepEqual([leftUsd(-4_991_000_000), shortUsd(-4_991_000_000)], ["-$5.00", "-$4.99"]);
});

test("the used and the remaining amount add up to the whole", () => {
  const whole = 8_000_000_000;
  const shown = [17_000, 4_800, 1, 9_999_999, 1_234_567_891, 0].map((used) => [
    usedUsd(used),
    leftUsd(whole - used, whole),
  ]);
  deepEqual(shown, [
    ["$0.000017", "$7.999983"],
    ["$0.0000048", "$7.9999952"],
    ["$0.000000001", "$7.999999999"],
    ["$0.01", "$7.99"],
    ["$1.24", "$6.76"],
    ["$0.00", "$8.00"],
  ]);
});
