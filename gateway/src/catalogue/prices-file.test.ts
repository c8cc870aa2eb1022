import assert from "node:assert/strict";
import { test } from "node:test";
import { cents } from "../../test/metering/prices.ts";
import { parseCatalogue } from "./catalogue.ts";
import { CatalogueError } from "./catalogue-error.ts";

const NANO = 1_000_000_000n;

function read(...models: unknown[]) {
  return parseCatalogue(JSON.stringify({ models }), { atMs: 0 }).snapshot.models;
}

const text = { id: "t", type: "text", usd_per_million_tokens: { input: "1.54", output: "4.84" } };

test("a price file has every kind of model, at exact prices", () => {
  const extended = { above_prompt_tokens: 200_000, input: "3", output: "9", cache_write: "4" };
  const models = read(
    {
      ...text,
      context_tokens: 131_072,
      max_output_tokens: 8192,
      usd_per_million_tokens: { ...text.usd_per_million_tokens, cache_read: "0.29", extended },
      features: { supportsVision: true },
    },
    { id: "e", type: "embedding", context_tokens: 8192, usd_per_million_tokens: { input: "0.0125" } },
    { id: "s", type: "speech", usd_per_million_characters: "3.5", owned_by: "o", created: 7 },
    { id: "a", type: "transcription", usd_per_audio_second: "0.0001" },
    { id: "i", type: "image", usd_per_image: "0" },
    {
      id: "q",
      type: "image",
      usd_per_image: { "1K": "0.27" },
      usd_per_image_by_quality: { "1K": { low: "0.02" } },
    },
  );
  assert.deepEqual(models.get("t"), {
    id: "t",
    created: 0,
    ownedBy: "provider",
    price: {
      kind: "text",
      rates: { input: cents(154), output: cents(484), cacheRead: cents(29) },
      extended: { thresholdTokens: 200_000, rates: { input: cents(300), output: cents(900), cacheWrite: cents(400) } },
    },
    contextTokens: 131_072,
    maxOutputTokens: 8192,
    features: { supportsVision: true },
  });
  assert.deepEqual(models.get("e")?.price, { kind: "embedding", input: 125n * 10n ** 8n });
  assert.deepEqual(models.get("a")?.price, { kind: "transcription", second: 100_000n * NANO });
  assert.deepEqual(models.get("s")?.price, { kind: "speech", character: 3500n * NANO });
  assert.equal(models.get("s")?.ownedBy, "o");
  assert.deepEqual(models.get("i")?.price, { kind: "image", byResolution: { "*": 0n } });
  assert.deepEqual(models.get("q")?.price, {
    kind: "image",
    byResolution: { "1K": 270_000_000n * NANO },
    byQuality: { "1K": { low: 20_000_000n * NANO } },
  });
});

test("a price file with anything wrong in it is refused as a whole, naming the place", () => {
  const wrong: [unknown, RegExp][] = [
    [{ ...text, usd_per_million_tokens: { input: 1.54, output: "4.84" } }, /usd_per_million_tokens\.input/],
    [{ ...text, usd_per_million_tokens: { input: "-1", output: "4.84" } }, /decimal of at most 10 places/],
    [{ ...text, usd_per_million_tokens: { input: "0.00000000001", output: "1" } }, /decimal of at most 10 places/],
    [{ ...text, usd_per_million_tokens: { input: "1" } }, /usd_per_million_tokens\.output/],
    [{ ...text, usd_per_request: "1" }, /usd_per_request/],
    [{ ...text, type: "video" }, /models\[1\]\.type/],
    [{ ...text, features: { voice: "a" } }, /voice/],
    [text, /has t twice/],
  ];
  for (const [model, message] of wrong) {
    assert.throws(
      () => read(text, model),
      (error: Error) => error instanceof CatalogueError && message.test(error.message),
      message.source,
    );
  }
  assert.throws(() => read(), CatalogueError);
});
