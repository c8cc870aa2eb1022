import { equal } from "node:assert/strict";
import { test } from "node:test";
import { otherPrices, perMillion } from "./price-words.ts";

test("each kind of price is told in its own unit", () => {
  const none = { prompt: "0", completion: "0" };
  for (const [pricing, words] of [
    [{ prompt: "0.00000015", completion: "0.0000006" }, ""],
    [{ ...none, input_cache_read: "0.00000004" }, "0.04 per M cached input"],
    [{ ...none, input_cache_write: "0.000001925" }, "1.925 per M written to the cache"],
    [
      { ...none, extended: { above_prompt_tokens: 200_000, prompt: "0.000005", completion: "0.00001875" } },
      "5.00 and 18.75 above 200000 input tokens",
    ],
    [{ ...none, character: "0.000015" }, "15.00 per M characters"],
    [{ ...none, audio_second: "0.0001" }, "0.0001 a second of audio"],
    [{ ...none, image: "0.04" }, "0.04 an image"],
    [{ ...none, image: { "1K": "0.09", "4K": "0.24" } }, "an image 0.09 (1K) 0.24 (4K)"],
    [{ ...none, image: "0.3", image_by_quality: { "1K": { low: "0.02" } } }, "0.30 an image, 1K 0.02 (low)"],
  ] as const) {
    equal(otherPrices(pricing), words);
  }
  equal(perMillion("0.00000015"), "0.15");
  equal(perMillion("0"), "");
});
