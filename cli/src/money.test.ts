import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { dollars, intended, shortCoins, usd } from "./money.ts";

test("dollars have two digits after the point, or as many as the amount needs", () => {
  const nano = [0, 300_000_000, 8_000_000_000, 7_999_983_000, 4_050];
  deepEqual(nano.map(usd), ["$0.00", "$0.30", "$8.00", "$7.999983", "$0.00000405"]);
  deepEqual([1_000_000n, 1_500_000n, 1n].map(dollars), ["$1.00", "$1.50", "$0.000001"]);
});

test("the format of an intent's amount never changes", () => {
  deepEqual([1_000_000n, 1_500_000n].map(intended), ["$1", "$1.5"]);
});

test("coins have at most six decimals, and a small amount is not shown as zero", () => {
  const shown = ["10009.997605715983240012", "0.5", "7", "0.0000004", "0"].map(shortCoins);
  deepEqual(shown, ["10009.997605", "0.5", "7", "< 0.000001", "0"]);
});
