import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model, Price } from "@inference/protocol/model";
import { cents, extendedPrice, goldenPrice } from "../../test/metering/prices.ts";
import { toModelObject } from "./model-object.ts";

const NANO = 1_000_000_000n;

function pricing(price: Price): unknown {
  const model: Model = {
    id: "m",
    created: 5,
    ownedBy: "o",
    price,
    contextTokens: 200_000,
    maxOutputTokens: 24_000,
    features: {},
  };
  return toModelObject(model).pricing;
}

test("a model is listed with OpenAI's fields and its limits", () => {
  const features = { name: "M", supportsTools: true, defaultVoice: "a" };
  const model = {
    id: "m",
    created: 5,
    ownedBy: "o",
    price: goldenPrice,
    contextTokens: 200_000,
    maxOutputTokens: null,
    features,
  };
  assert.deepEqual(toModelObject(model), {
    id: "m",
    object: "model",
    created: 5,
    owned_by: "o",
    type: "text",
    name: "M",
    display_name: "M",
    created_at: "1970-01-01T00:00:05.000Z",
    max_input_tokens: 200_000,
    max_tokens: null,
    supported_parameters: [
      ...["max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "seed"],
      ...["frequency_penalty", "presence_penalty", "tools", "tool_choice"],
    ],
    context_length: 200_000,
    pricing: { prompt: "0.00000154", completion: "0.00000484", input_cache_read: "0.00000029" },
    top_provider: { context_length: 200_000, max_completion_tokens: null },
    features: { supports_tools: true, default_voice: "a" },
  });
});

test("prices are exact decimal strings in dollars per unit", () => {
  assert.deepEqual(pricing(extendedPrice), {
    prompt: "0.0000025",
    completion: "0.000015",
    input_cache_read: "0.00000025",
    input_cache_write: "0.00000313",
    extended: {
      above_prompt_tokens: 1000,
      prompt: "0.000005",
      completion: "0.0000225",
      input_cache_read: "0.0000005",
      input_cache_write: "0.00000626",
    },
  });
  assert.deepEqual(pricing({ kind: "embedding", input: cents(2) }), { prompt: "0.00000002", completion: "0" });
  assert.deepEqual(pricing({ kind: "speech", character: 3500n * NANO }), {
    prompt: "0",
    completion: "0",
    character: "0.0000035",
  });
  const flat = pricing({ kind: "image", byResolution: { "*": 10_000_000n * NANO } });
  assert.deepEqual(flat, { prompt: "0", completion: "0", image: "0.01" });
  const byQuality = { "1K": { low: 20_000_000n * NANO } };
  assert.deepEqual(pricing({ kind: "image", byResolution: { "1K": 270_000_000n * NANO }, byQuality }), {
    prompt: "0",
    completion: "0",
    image: { "1K": "0.27" },
    image_by_quality: { "1K": { low: "0.02" } },
  });
});
