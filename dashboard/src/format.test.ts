import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { leftUsd, shortUsd } from "./format.ts";

test("what is left is rounded down, so that what is shown can be spent; what was spent to the nearest", () => {
  const amounts = [4_996_000_000, 5_000_000_000, 9_999_999, 19_999, 1_995, 9, 0];
  deepEqual(amounts.map(leftUsd), ["$4.99", "$5.00", "$0.0099", "$0.000019", "$0.0000019", "$0.000000009", "$0.00"]);
  deepEqual(amounts.map(shortUsd), ["$5.00", "$5.00", "$0.01", "$0.00002", "$0.000002", "$0.000000009", "$0.00"]);
});

test("more spent than there is, is not shown as less than it is", () => {
  deepEqual([leftUsd(-4_991_000_000), shortUsd(-4_991_000_000)], ["-$5.00", "-$4.99"]);
});
