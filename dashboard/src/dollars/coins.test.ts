import { equal } from "node:assert/strict";
import { test } from "node:test";
import { aboutCoins } from "./coins.ts";

test("an estimate in coins has two digits and is never below the cost", () => {
  equal(aboutCoins(130_100_000_000_000n), "0.00014");
  equal(aboutCoins(1_000_000_000_000_000_000n), "1");
  equal(aboutCoins(7n), "0.000000000000000007");
  equal(aboutCoins(0n), "0");
});
