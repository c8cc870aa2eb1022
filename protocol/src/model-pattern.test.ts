import assert from "node:assert/strict";
import { test } from "node:test";
import { allowsModel, MODEL_PATTERN } from "./model-pattern.ts";

test("a pattern is an id or a prefix, and never all models", () => {
  for (const pattern of ["gpt-4o", "llama-*", "meta/llama:free", "a"]) assert.match(pattern, MODEL_PATTERN);
  for (const text of ["", "*", "a b", "a**", "*a", "a,b", "é", "a".repeat(101)])
    assert.doesNotMatch(text, MODEL_PATTERN);
});

test("an id allows itself, and a prefix all that begins with it", () => {
  assert.ok(allowsModel("gpt-4o", "gpt-4o") && allowsModel("llama-*", "llama-3") && allowsModel("llama-*", "llama-3*"));
  assert.ok(!allowsModel("gpt-4o", "gpt-4o-mini") && !allowsModel("gpt-4o", "gpt-4o*"));
  assert.ok(!allowsModel("llama-*", "llama") && !allowsModel("llama-*", "llam*"));
});
