import assert from "node:assert/strict";
import { test } from "node:test";
import { codingChoice, codingGaps, codingModel, type ListedModel } from "./coding-model.ts";

const listed = (id: string, dollarsPerM: number, more: Partial<ListedModel> = {}): ListedModel => ({
  ...{ id, type: "text", context_length: 131_072, supported_parameters: ["max_tokens", "tools"] },
  pricing: { prompt: (dollarsPerM / 1e6).toFixed(12), completion: (dollarsPerM / 1e6).toFixed(12) },
  ...more,
});
const small = listed("small", 0.01, { context_length: 32_768 });
const toolless = listed("toolless", 0.01, { supported_parameters: ["max_tokens"] });
const chosen = (...models: ListedModel[]) => codingModel(models)?.id;

test("a coding tool is given the cheapest model with tools and 128,000 tokens of context", () => {
  const others = [
    listed("free", 0),
    listed("alias", 0.01, { alias_of: "good" }),
    listed("image", 0.01, { type: "image" }),
    listed("unpriced", 0.01, { pricing: { prompt: "0.01" } }),
    listed("unknown", 0.01, { context_length: null }),
  ];
  assert.equal(chosen(small, toolless, listed("dear", 5), listed("good", 1), ...others), "good");
  assert.equal(chosen(listed("exactly", 1, { context_length: 128_000 }), listed("larger", 2)), "exactly");
  assert.equal(
    codingChoice(listed("good", 1)),
    "`good` is the cheapest model with tools and a context window of at least 128,000 tokens.",
  );
});

test("without such a model the nearest is chosen, and what it lacks is said", () => {
  const medium = listed("medium", 3, { context_length: 65_536 });
  assert.equal(chosen(small, medium, toolless), "medium");
  assert.equal(chosen(toolless, small), "small");
  assert.equal(chosen(), undefined);
  assert.match(
    codingChoice(small),
    /^This gateway has no model with tools .* `small`: its context window is 32,768 tokens\.$/,
  );
  assert.deepEqual(codingGaps(listed("none", 1, { supported_parameters: undefined, context_length: null })), [
    "it does not take tools",
    "its context window is unknown",
  ]);
});
