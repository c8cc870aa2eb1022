import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDecimal } from "@inference/protocol/money";
import fc from "fast-check";
import { roundDecimal } from "./decimal.ts";

const anyScaled = fc.bigInt({ min: 0n, max: 10n ** 15n - 1n });

test("a decimal of at most ten places and fifteen digits comes back exact, as text and as a JSON number", () => {
  fc.assert(
    fc.property(anyScaled, (scaled) => {
      const text = formatDecimal(scaled, 10);
      assert.equal(roundDecimal(text, 10), scaled);
      assert.equal(roundDecimal(JSON.parse(text), 10), scaled);
    }),
  );
});

test("the noise of a float's arithmetic is rounded away", () => {
  const factors = fc.tuple(fc.integer({ min: 1, max: 99_999 }), fc.integer({ min: 1, max: 99 }));
  fc.assert(
    fc.property(factors, ([thousandths, percent]) => {
      const noisy = (thousandths / 1000) * (percent / 100);
      assert.equal(roundDecimal(noisy, 10), BigInt(thousandths) * BigInt(percent) * 100_000n);
    }),
  );
  assert.equal(roundDecimal(0.009200000000000002, 10), 92_000_000n);
  assert.equal(roundDecimal("0.11500000000000002", 10), 1_150_000_000n);
});

test("exponents are read, halves are rounded up", () => {
  assert.equal(roundDecimal(1e-7, 18), 10n ** 11n);
  assert.equal(roundDecimal("1.5E+2", 0), 150n);
  assert.equal(roundDecimal("0.5", 0), 1n);
  assert.equal(roundDecimal("0.49", 0), 0n);
});

test("what is no non-negative decimal is none", () => {
  const bad: unknown[] = [
    "-1",
    -1,
    "",
    " 1",
    "1 ",
    "1.",
    ".5",
    "0x10",
    "1e1000",
    "NaN",
    Number.NaN,
    Infinity,
    null,
    true,
    [1],
    {},
  ];
  for (const value of bad) assert.equal(roundDecimal(value, 10), undefined, String(value));
});
