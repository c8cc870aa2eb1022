import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  assertNanoUsd,
  attoToNanoUsdUp,
  cappedNanoUsd,
  formatDecimal,
  formatUsd,
  isNanoUsd,
  MAX_NANO_USD,
  MoneyError,
  nanoUsdToAtto,
  parseDecimal,
  parseUsd,
} from "./money.ts";

const amount = fc.integer({ min: 0, max: MAX_NANO_USD });
const GIGA = 1_000_000_000n;

test("an amount is a safe integer from zero to nine million dollars", () => {
  for (const value of [0, 1, MAX_NANO_USD]) assert.equal(isNanoUsd(value), true, `${value}`);
  for (const value of [-1, 0.5, MAX_NANO_USD + 1, Number.NaN, Number.POSITIVE_INFINITY, "1", 1n, null, undefined]) {
    assert.equal(isNanoUsd(value), false, `${value}`);
  }
  assert.equal(assertNanoUsd(5, "five"), 5);
  assert.throws(() => assertNanoUsd(-1, "what is left"), { name: "MoneyError", message: /what is left/ });
});

test("dollars are printed exactly and read back the same", () => {
  fc.assert(fc.property(amount, (nano) => assert.equal(parseUsd(formatUsd(nano)), nano)));
  const examples: [number, string][] = [
    [0, "0"],
    [1, "0.000000001"],
    [1_234_500_000, "1.2345"],
    [1_000_000_000, "1"],
    [10_000_000_000, "10"],
    [MAX_NANO_USD, "9000000"],
    [MAX_NANO_USD - 1, "8999999.999999999"],
  ];
  for (const [nano, text] of examples) assert.equal(formatUsd(nano), text);
});

test("only a plain decimal of at most nine places within the bounds is an amount", () => {
  const texts = [
    "",
    ".",
    "1.",
    ".5",
    "-1",
    "+1",
    "1e3",
    "1,0",
    " 1",
    "1 ",
    "1\n",
    "0x1",
    "NaN",
    "Infinity",
    "0.0000000001",
    "9000000.000000001",
    "\u0661",
    "1".repeat(31),
    "1_0",
  ];
  for (const text of texts) assert.equal(parseUsd(text), undefined, JSON.stringify(text));
  assert.equal(parseUsd("0.0000000010"), 1, "a trailing zero adds nothing");
  assert.equal(parseUsd("007.50"), 7_500_000_000);
  assert.equal(parseUsd("9000000"), MAX_NANO_USD);
});

test("a decimal of any scale is exact both ways", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 27n }), fc.integer({ min: 0, max: 18 }), (scaled, decimals) => {
      assert.equal(parseDecimal(formatDecimal(scaled, decimals), decimals), scaled);
      assert.equal(formatDecimal(-scaled, decimals), scaled === 0n ? "0" : `-${formatDecimal(scaled, decimals)}`);
    }),
  );
});

test("a charge is rounded up, once, and never by a whole nano-dollar", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: BigInt(MAX_NANO_USD) * GIGA }), (atto) => {
      const up = BigInt(attoToNanoUsdUp(atto)) * GIGA;
      assert.ok(up >= atto && up - atto < GIGA);
    }),
  );
  assert.deepEqual([0n, 1n, GIGA - 1n, GIGA, GIGA + 1n].map(attoToNanoUsdUp), [0, 1, 1, 1, 2]);
});

test("a nano-dollar is exact in atto-dollars", () => {
  fc.assert(
    fc.property(amount, (nano) => {
      assert.equal(attoToNanoUsdUp(nanoUsdToAtto(nano)), nano);
    }),
  );
});

test("charges out of bounds are refused, to the atto-dollar", () => {
  const most = BigInt(MAX_NANO_USD) * GIGA;
  assert.equal(attoToNanoUsdUp(most), MAX_NANO_USD);
  assert.throws(() => attoToNanoUsdUp(-1n), MoneyError);
  assert.throws(() => attoToNanoUsdUp(most + 1n), MoneyError);
});

test("an amount of the chain counts as the largest if it is above", () => {
  assert.deepEqual([0n, 1_000n].map(cappedNanoUsd), [0, 1_000]);
  for (const above of [0n, 1n, 2n ** 256n]) assert.equal(cappedNanoUsd(BigInt(MAX_NANO_USD) + above), MAX_NANO_USD);
});
