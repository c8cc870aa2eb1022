import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { anyTextPrice, anyUsageWithin } from "../../test/metering/prices.ts";
import { deliveredTokens, quoteText } from "./quote.ts";

const anyRequest = fc.record({
  snapshotId: fc.constant("s"),
  price: anyTextPrice,
  promptTokens: fc.integer({ min: 0, max: 6000 }),
  choices: fc.integer({ min: 1, max: 8 }),
  maxTokens: fc.integer({ min: 1, max: 4000 }),
  modelMaxTokens: fc.constant(4000),
});

test("a request's maximum covers the charge of every usage within its limits", () => {
  const cases = anyRequest.chain((request) =>
    anyUsageWithin(request.promptTokens, request.choices * request.maxTokens).map((usage) => ({ request, usage })),
  );
  fc.assert(
    fc.property(cases, ({ request, usage }) => {
      const quote = quoteText(request);
      assert.ok(quote.chargeForUsage(usage) <= quote.maxNanoUsd);
    }),
    { numRuns: runs(1_000) },
  );
});

test("a request's maximum is reached by some usage: nothing is reserved in vain", () => {
  fc.assert(
    fc.property(anyRequest, (request) => {
      const quote = quoteText(request);
      const { promptTokens, completionTokens } = quote.bound;
      const threshold = request.price.extended?.thresholdTokens ?? promptTokens;
      const charges = [promptTokens, Math.min(promptTokens, threshold)].flatMap((prompt) =>
        [
          { cacheReadTokens: 0, cacheWriteTokens: 0 },
          { cacheReadTokens: prompt, cacheWriteTokens: 0 },
          { cacheReadTokens: 0, cacheWriteTokens: prompt },
        ].map((cache) =>
          quote.chargeForUsage({ promptTokens: prompt, completionTokens, reasoningTokens: 0, ...cache }),
        ),
      );
      assert.equal(Math.max(...charges), quote.maxNanoUsd);
    }),
    { numRuns: runs(333) },
  );
});

test("affordableTokens is the largest max_tokens whose maximum fits into the amount", () => {
  fc.assert(
    fc.property(anyRequest, fc.maxSafeNat(), (request, amount) => {
      const available = amount % (2 * quoteText(request).maxNanoUsd + 1);
      const affordable = quoteText(request).affordableTokens(available);
      assert.ok(affordable !== null && affordable >= 0 && affordable <= request.modelMaxTokens);
      if (affordable > 0) assert.ok(quoteText({ ...request, maxTokens: affordable }).maxNanoUsd <= available);
      if (affordable < request.modelMaxTokens) {
        assert.ok(quoteText({ ...request, maxTokens: affordable + 1 }).maxNanoUsd > available);
      }
    }),
    { numRuns: runs(666) },
  );
});

test("what was delivered costs at least a usage of the estimated tokens, and at most the maximum", () => {
  const cases = anyRequest.chain((request) =>
    fc.record({ bytes: fc.nat(40_000), events: fc.nat(5000) }).chain((delivered) => {
      const most = Math.min(deliveredTokens(delivered), request.choices * request.maxTokens);
      return anyUsageWithin(request.promptTokens, most).map((usage) => ({ request, delivered, usage }));
    }),
  );
  fc.assert(
    fc.property(cases, ({ request, delivered, usage }) => {
      const quote = quoteText(request);
      const charge = quote.chargeForDelivered(delivered);
      assert.ok(charge <= quote.maxNanoUsd);
      if (delivered.bytes + delivered.events > 0) assert.ok(charge >= quote.chargeForUsage(usage));
      else assert.equal(charge, 0);
    }),
    { numRuns: runs(666) },
  );
});
