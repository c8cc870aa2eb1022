import assert from "node:assert/strict";
import { test } from "node:test";
import { attoFromPrice, nanoRoundedUp, usdFixed, usdFromAtto } from "./decimal.ts";

test("a price is read exactly, and float noise beyond ten places is rounded off", () => {
  assert.equal(attoFromPrice("1.54"), 1_540_000_000_000_000_000n);
  assert.equal(attoFromPrice("0.26666667"), 266_666_670_000_000_000n);
  assert.equal(attoFromPrice("0.009200000000000002"), attoFromPrice("0.0092"));
  assert.equal(attoFromPrice("0.11500000000000002"), attoFromPrice("0.115"));
  assert.equal(attoFromPrice("0.29999999999999998"), attoFromPrice("0.3"));
  assert.equal(attoFromPrice("3.148e-5"), attoFromPrice("0.00003148"));
  assert.equal(attoFromPrice("337.5"), 337_500_000_000_000_000_000n);
});

test("what is not a decimal amount is refused", () => {
  for (const text of ["", "-1", "NaN", "1,5", "0x10", "1.2.3"]) assert.throws(() => attoFromPrice(text), RangeError);
});

test("an amount prints as a plain decimal that reads back the same", () => {
  for (const text of ["0", "1", "0.00146074", "1000000", "0.000000001"]) {
    assert.equal(usdFromAtto(attoFromPrice(text)), text);
  }
  assert.equal(usdFromAtto(-1_500_000_000_000_000_000n), "-1.5");
  assert.equal(usdFixed(attoFromPrice("5.12349"), 4), "5.1234");
});

test("nano-dollars are rounded up, once and only up", () => {
  assert.equal(nanoRoundedUp(0n), 0n);
  assert.equal(nanoRoundedUp(1n), 1n);
  assert.equal(nanoRoundedUp(1_000_000_000n), 1n);
  assert.equal(nanoRoundedUp(1_000_000_001n), 2n);
});
