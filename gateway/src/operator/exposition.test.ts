import assert from "node:assert/strict";
import { test } from "node:test";
import { exposition } from "./exposition.ts";
import { makeMetrics } from "./metrics.ts";
import { makeProviderCosts } from "./provider-costs.ts";

test("the id of a model is escaped in a label", () => {
  const costs = makeProviderCosts({ log: () => undefined });
  costs.note('a"b\\c', 1, 2);
  const text = exposition(makeMetrics().counts, [], costs.byModel);
  assert.match(text, /^inference_gateway_provider_cost_nano_usd_total\{model="a\\"b\\\\c"\} 1$/m);
});
