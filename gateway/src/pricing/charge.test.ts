import assert from "node:assert/strict";
import { test } from "node:test";
import { ATTO_PER_MICRO_USD, cents, extendedPrice, goldenPrice, usageOf } from "../../test/metering/prices.ts";
import { chargeAtto, chargeForUsage, chargeToNanoUsdUp, imageAtto, speechAtto } from "./charge.ts";

test("tokens read from the cache are inside the prompt tokens, and a charge is exact", () => {
  const usage = usageOf({ promptTokens: 339, cacheReadTokens: 128, completionTokens: 227, reasoningTokens: 32 });
  assert.equal(chargeAtto(goldenPrice, usage), 146_074n * 10n ** 10n);
  assert.equal(chargeForUsage(goldenPrice, usage), 1_460_740);
});

test("tokens written to the cache are inside the prompt tokens, and priced as input where they have no price", () => {
  const usage = usageOf({ promptTokens: 100, cacheWriteTokens: 40, cacheReadTokens: 10 });
  assert.equal(chargeAtto(extendedPrice, usage), 50n * cents(250) + 10n * cents(25) + 40n * cents(313));
  assert.equal(chargeAtto(goldenPrice, usage), 90n * cents(154) + 10n * cents(29));
});

test("tokens read from the cache cost as much as input where they have no price", () => {
  const price = { kind: "text", rates: { input: 3n, output: 5n } } as const;
  assert.equal(chargeAtto(price, usageOf({ promptTokens: 100, cacheReadTokens: 40 })), 300n);
});

test("above the threshold, and not at it, all tokens have the extended rates", () => {
  const at = usageOf({ promptTokens: 1000, completionTokens: 10 });
  const above = usageOf({ promptTokens: 1001, completionTokens: 10 });
  assert.equal(chargeAtto(extendedPrice, at), 1000n * cents(250) + 10n * cents(1500));
  assert.equal(chargeAtto(extendedPrice, above), 1001n * cents(500) + 10n * cents(2250));
});

test("a charge is rounded up once, to the nano-dollar", () => {
  // 0.0125 dollars a million tokens is 12.5 nano-dollars a token.
  const price = { kind: "embedding", input: (125n * ATTO_PER_MICRO_USD) / 10_000n } as const;
  assert.equal(chargeForUsage(price, usageOf({ promptTokens: 1 })), 13);
  assert.equal(chargeForUsage(price, usageOf({ promptTokens: 2 })), 25);
  assert.equal(chargeForUsage(price, usageOf({ promptTokens: 3 })), 38);
});

test("zero is a price", () => {
  const free = { kind: "text", rates: { input: 0n, output: 0n } } as const;
  assert.equal(chargeForUsage(free, usageOf({ promptTokens: 1e6, completionTokens: 1e6 })), 0);
});

test("a charge beyond the largest amount is the largest amount", () => {
  assert.equal(chargeToNanoUsdUp(10n ** 40n), 9_000_000_000_000_000);
});

test("an image costs its quality's price where there is one, else its resolution's, and nothing is guessed", () => {
  const price = { kind: "image", byResolution: { "1K": 27n }, byQuality: { "1K": { high: 26n } } } as const;
  assert.equal(imageAtto(price, "1K", "high"), 26n);
  assert.equal(imageAtto(price, "1K", undefined), 27n);
  assert.equal(imageAtto(price, "1K", "low"), 27n);
  assert.equal(imageAtto(price, "2K", "high"), undefined);
  assert.equal(imageAtto(price, "constructor", "name"), undefined);
});

test("speech costs its characters", () => {
  assert.equal(speechAtto({ kind: "speech", character: 35n }, 4096), 35n * 4096n);
});
