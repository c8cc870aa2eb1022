import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { cellOf, columnPrices, type PriceColumn, pricesOf, shownPrice } from "./cost.ts";

const listed = (type: string, pricing: object): string[] =>
  pricesOf(type, pricing as Record<string, unknown>).map((price) => `${price.label}: ${shownPrice(price)}`);
const cell = (type: string, pricing: object, column: PriceColumn): string | null => {
  const found = cellOf(columnPrices(type, pricing as Record<string, unknown>, column));
  return found === null ? null : `${found.isFrom ? "from " : ""}${found.price}`;
};

const text = { prompt: "0.0000025", completion: "0.0000125" };
const tiered = {
  ...{ ...text, input_cache_read: "0.00000025", input_cache_write: "0.000003125" },
  extended: { above_prompt_tokens: 200_000, prompt: "0.000005", completion: "0.00001875" },
};

test("a model lists every price that can apply: tiers, the cache, sizes and qualities", () => {
  deepEqual(listed("text", text), ["Input: $2.50", "Output: $12.50"]);
  deepEqual(listed("text", tiered), [
    "Input: $2.50",
    "Cached input: $0.25",
    "Input written to the cache: $3.125",
    "Output: $12.50",
    "Input above 200,000 input tokens: $5.00",
    "Output above 200,000 input tokens: $18.75",
  ]);
  deepEqual(listed("tts", { prompt: "0", completion: "0", character: "0.000015" }), ["Characters: $15.00"]);
  deepEqual(listed("asr", { prompt: "0", completion: "0", audio_second: "0.0001" }), ["Minutes of audio: $0.006"]);
  deepEqual(listed("image", { prompt: "0", completion: "0", image: "0.04" }), ["Any size: $0.04"]);
  deepEqual(listed("image", { image: { "1K": "0.02", "2K": "0.05" }, image_by_quality: { high: { "1K": "0.08" } } }), [
    "1K: $0.02",
    "2K: $0.05",
    "1K, high: $0.08",
  ]);
});

test("a price with a higher one beside it says so, in every column", () => {
  equal(cell("text", text, "input"), "$2.50");
  equal(cell("text", text, "cached"), null);
  equal(cell("text", tiered, "input"), "from $2.50");
  equal(cell("text", tiered, "output"), "from $12.50");
  // Above the threshold this model has no price of its own for cached input, which costs what input does.
  equal(cell("text", tiered, "cached"), "from $0.25");
  equal(cell("image", { image: { "2K": "0.05", "1K": "0.02" } }, "output"), "from $0.02");
  equal(cell("image", { image: "0.04" }, "input"), null);
  equal(cell("text", { ...text, input_cache_read: "0.00000025" }, "input"), "$2.50");
  equal(cell("text", { ...text, input_cache_write: "0.000003125" }, "input"), "from $2.50");
});

test("an embedding has no price of output", () => {
  const embedding = { prompt: "0.0000001", completion: "0" };
  deepEqual(listed("embedding", embedding), ["Input: $0.10"]);
  equal(cell("embedding", embedding, "output"), null);
});
