import assert from "node:assert/strict";
import { test } from "node:test";
import { attoFromPrice, nanoRoundedUp, usdFromAtto } from "./decimal.ts";

test("a price is read exactly, and float noise beyond ten places is rounded off", () => {
  assert.equal(attoFromPrice("1.54"), 1_540_000_000_000_000_000n);
  assert.equal(attoFromPrice("0.26666667"), 266_666_670_000_000_000n);
  assert.equal(attoFromPrice("0.009200000000000002"), attoFromPrice("0.0092"));
  assert.equal(attoFromPrice("0.11500000000000002"), attoFromPrice("0.115"));
  assert.equal(attoFromPrice("0.29999999999999998"), attoFromPrice("0.3"));
  assert.equal(attoFromPrice("3.148e-5"), attoFromPrice("0.00003148"));
  for (const text of ["", "-1", "NaN", "1,5", "0x10", "1.2.3"]) assert.throws(() => attoFromPrice(text), RangeError);
});

test("an amount prints as a plain decimal that reads back the same", () => {
  for (const text of ["0", "1", "0.00146074", "1000000", "0.000000001"]) {
    assert.equal(usdFromAtto(attoFromPrice(text)), text);
  }
  assert.equal(usdFromAtto(-1_500_000_000_000_000_000n), "-1.5");
});

test("nano-dollars are rounded up", () => {
  assert.deepEqual([0n, 1n, 1_000_000_000n, 1_000_000_001n].map(nanoRoundedUp), [0n, 1n, 1n, 2n]);
});
