import assert from "node:assert/strict";
import { test } from "node:test";
import { usageOf } from "../../../test/metering/prices.ts";
import { textWithUsage, usageJson } from "./usage-json.ts";

test("the cost is a JSON number printed exactly from the integer", () => {
  const usage = usageOf({
    promptTokens: 3,
    completionTokens: 4,
    cacheReadTokens: 1,
    cacheWriteTokens: 2,
    reasoningTokens: 4,
  });
  assert.equal(
    usageJson({ usage, costNanoUsd: 9_007_199_254_740_991, isEstimated: false }),
    '{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,' +
      '"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":4},' +
      '"cost":9007199.254740991,"cost_nano_usd":9007199254740991}',
  );
  assert.match(usageJson({ usage, costNanoUsd: 1, isEstimated: false }), /"cost":0\.000000001,"cost_nano_usd":1\}$/);
  assert.match(
    usageJson({ usage, costNanoUsd: 0, isEstimated: true }),
    /"cost":0,"cost_nano_usd":0,"estimated":true\}$/,
  );
});

test("an object takes a usage in, whether it has other fields or none", () => {
  const usage = usageJson({ usage: usageOf({}), costNanoUsd: 1, isEstimated: false });
  for (const object of [{}, { id: "c" }, { choices: [{}], created: 1 }]) {
    assert.deepEqual(JSON.parse(textWithUsage(JSON.stringify(object), usage)), { ...object, usage: JSON.parse(usage) });
  }
});
