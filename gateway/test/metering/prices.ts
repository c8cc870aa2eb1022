import type { TextPrice, TokenRates } from "@inference/protocol/model";
import fc from "fast-check";
import type { TokenUsage } from "../../src/pricing/usage.ts";

/** Prices and usages for tests. */
export const ATTO_PER_MICRO_USD = 1_000_000_000_000n;

/** Dollars per million tokens, in cents: `cents(154)` is 1.54. */
export function cents(amount: number): bigint {
  return (BigInt(amount) * ATTO_PER_MICRO_USD) / 100n;
}

export const goldenPrice: TextPrice = {
  kind: "text",
  rates: { input: cents(154), output: cents(484), cacheRead: cents(29) },
};

export const extendedPrice: TextPrice = {
  kind: "text",
  rates: { input: cents(250), output: cents(1500), cacheRead: cents(25), cacheWrite: cents(313) },
  extended: {
    thresholdTokens: 1000,
    rates: { input: cents(500), output: cents(2250), cacheRead: cents(50), cacheWrite: cents(626) },
  },
};

export function usageOf(counts: Partial<TokenUsage>): TokenUsage {
  return {
    promptTokens: 0,
    completionTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    ...counts,
  };
}

const rate = fc.bigInt({ min: 0n, max: 400n * ATTO_PER_MICRO_USD });
const rates: fc.Arbitrary<TokenRates> = fc.record(
  { input: rate, output: rate, cacheRead: rate, cacheWrite: rate },
  { requiredKeys: ["input", "output"] },
);

/** Any price: zero rates, cache rates above and below the input's, extended rates dearer or cheaper. */
export const anyTextPrice: fc.Arbitrary<TextPrice> = fc.record(
  {
    kind: fc.constant("text" as const),
    rates,
    extended: fc.record({ thresholdTokens: fc.integer({ min: 1, max: 3000 }), rates }),
  },
  { requiredKeys: ["kind", "rates"] },
);

/** Any usage within a request's limits, however its prompt is split over the cache. */
export function anyUsageWithin(promptTokens: number, completionTokens: number): fc.Arbitrary<TokenUsage> {
  return fc
    .tuple(fc.nat(promptTokens), fc.nat(completionTokens), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(100))
    .map(([prompt, completion, share, write]) => {
      const cached = Math.floor(prompt * share);
      const cacheWriteTokens = Math.floor((cached * write) / 100);
      return usageOf({
        promptTokens: prompt,
        completionTokens: completion,
        cacheReadTokens: cached - cacheWriteTokens,
        cacheWriteTokens,
      });
    });
}
