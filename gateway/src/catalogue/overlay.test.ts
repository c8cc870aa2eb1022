import assert from "node:assert/strict";
import { test } from "node:test";
import { CatalogueError } from "./catalogue-error.ts";
import { listedItems, overlay } from "./overlay.ts";

const priced = (id: string, more: object = {}) => ({
  ...{ id, type: "text", usd_per_million_tokens: { input: "1", output: "2" } },
  ...more,
});

function lay(models: object[], list: object | null) {
  const items = list === null ? null : listedItems(JSON.stringify(list));
  return overlay(JSON.stringify({ models }), items, { atMs: 0, aliases: { mine: ["b"] } });
}

const contextOf = (item: object) =>
  lay([priced("a")], { data: [{ id: "a", ...item }] }).snapshot.models.get("a")?.contextTokens;

test("a model of the file that the provider does not list is named and not offered", () => {
  const { snapshot, unlisted, leftOut } = lay([priced("a"), priced("b")], { data: [{ id: "a" }, { id: "c" }] });
  assert.deepEqual([...snapshot.models.keys()], ["a"]);
  assert.deepEqual(unlisted, ["b"]);
  assert.deepEqual(leftOut, [
    { id: "b", reason: "the provider does not list it" },
    { id: "mine", reason: "an alias of b, which is not served" },
  ]);
});

test("without a list of the provider the file alone counts", () => {
  for (const list of [null, {}, { data: "none" }]) {
    const { snapshot, unlisted } = lay([priced("a"), priced("b")], list);
    assert.deepEqual([[...snapshot.models.keys()], unlisted], [["a", "b"], []]);
  }
  assert.throws(() => lay([{ id: "a" }], null), CatalogueError);
});

test("the list gives context and abilities that the file leaves out, in each provider's words", () => {
  assert.equal(contextOf({ max_model_len: 32_768 }), 32_768);
  assert.equal(contextOf({ model_spec: { availableContextTokens: 200_000 } }), 200_000);
  assert.equal(contextOf({ context_length: 9_000, top_provider: { context_length: 8_000 } }), 8_000);
  assert.equal(contextOf({ meta: { n_ctx_train: 4_096 } }), 4_096);
  assert.equal(contextOf({}), null);
  const spec = { name: "A", privacy: "private", capabilities: { supportsVision: true }, maxCompletionTokens: 64 };
  const own = { context_tokens: 1_000, features: { supportsVision: false } };
  const [model] = lay([priced("a", own)], {
    data: [{ id: "a", model_spec: spec, max_model_len: 5 }],
  }).snapshot.models.values();
  assert.partialDeepStrictEqual(model, {
    ...{ contextTokens: 1_000, maxOutputTokens: 64 },
    features: { name: "A", privacy: "private", supportsVision: false },
  });
});
