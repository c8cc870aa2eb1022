import assert from "node:assert/strict";
import { test } from "node:test";
import { embeddingBound, promptBound, reachableTiers, tiersMaxAtto } from "./bound.ts";

test("a prompt's bound is its bytes, 32 a message and 256, and never more than the context", () => {
  assert.equal(promptBound({ bodyBytes: 1000, messages: 3, contextTokens: null }), 1352);
  assert.equal(promptBound({ bodyBytes: 1000, messages: 3, contextTokens: 8192 }), 1352);
  assert.equal(promptBound({ bodyBytes: 10_000, messages: 3, contextTokens: 8192 }), 8192);
});

test("the context cuts each input of an embedding, not their sum", () => {
  assert.equal(embeddingBound([10, 20], null), 94);
  assert.equal(embeddingBound([10, 20_000, 20_000], 8192), 42 + 2 * 8192);
});

test("a prompt that may be as long as the threshold, and no longer, cannot meet the extended rates", () => {
  const extended = { thresholdTokens: 1000, rates: { input: 2n, output: 20n } };
  const most = (promptTokens: number) => {
    return tiersMaxAtto(reachableTiers({ kind: "text", rates: { input: 1n, output: 10n }, extended }, promptTokens), 5);
  };
  assert.equal(most(1000), 1050n);
  assert.equal(most(1001), 2102n);
});
