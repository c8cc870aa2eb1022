import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { quoteTokens } from "@inference/sdk/verify/usage-cost";
import fc from "fast-check";
import { estimate } from "./estimate.ts";

const tiered = {
  ...{ prompt: "0.0000025", completion: "0.0000125", input_cache_read: "0.00000025" },
  extended: { above_prompt_tokens: 200_000, prompt: "0.000005", completion: "0.00001875" },
};
const request = (input: number, output: number, cached = 0) => estimate("text", tiered, { input, output, cached });

test("the lines of an estimate add up to the charge of the request, at the prices of its tier", () => {
  deepEqual(
    request(10_000, 1_000)?.lines.map(({ text, amount }) => `${text}: ${amount}`),
    ["Input, 10,000 × $2.50 / 1M: $0.025", "Output, 1,000 × $12.50 / 1M: $0.0125"],
  );
  equal(request(300_000, 1_000)?.nanoUsd, 1_518_750_000);
  equal(request(200_000, 0, 150_000)?.nanoUsd, 162_500_000);
  // Above the threshold cached input has no price of its own.
  equal(request(200_001, 0, 200_001)?.nanoUsd, 1_000_005_000);
  const amounts = fc.record({ input: fc.nat(400_000), output: fc.nat(100_000) });
  const property = fc.property(amounts, ({ input, output }) => {
    const found = request(input, output);
    equal(found?.nanoUsd, quoteTokens({ prompt: input, completion: output }, tiered));
    const sum = found?.lines.reduce((all, { atto }) => all + atto, 0n) ?? 0n;
    equal(BigInt(found?.nanoUsd ?? 0) * 10n ** 9n - sum < 10n ** 9n, true);
  });
  fc.assert(property, { seed: 1 });
});

test("an estimate is in the unit that the model is charged by", () => {
  const one = (type: string, pricing: object, input: number, label?: string) =>
    estimate(type, pricing as Record<string, unknown>, { input, cached: 0, output: 0, label })?.nanoUsd;
  equal(one("tts", { character: "0.000015" }, 1_000), 15_000_000);
  equal(one("asr", { audio_second: "0.0001" }, 60), 6_000_000);
  equal(one("image", { image: { "1K": "0.09", "4K": "0.24" } }, 2, "4K"), 480_000_000);
  equal(one("embedding", { prompt: "0.00000002", completion: "0" }, 1_000_000), 20_000_000);
  equal(one("text", { completion: "0" }, 1), undefined);
});
