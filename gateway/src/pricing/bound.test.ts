import assert from "node:assert/strict";
import { test } from "node:test";
import { embeddingBound, promptBound } from "./bound.ts";

test("a prompt's bound is its bytes, 32 a message and 256, and never more than the context", () => {
  assert.equal(promptBound({ bodyBytes: 1000, messages: 3, contextTokens: null }), 1352);
  assert.equal(promptBound({ bodyBytes: 1000, messages: 3, contextTokens: 8192 }), 1352);
  assert.equal(promptBound({ bodyBytes: 10_000, messages: 3, contextTokens: 8192 }), 8192);
});

test("the context cuts each input of an embedding, not their sum", () => {
  assert.equal(embeddingBound([10, 20], null), 94);
  assert.equal(embeddingBound([10, 20_000, 20_000], 8192), 42 + 2 * 8192);
});
