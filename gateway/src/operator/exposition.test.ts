import assert from "node:assert/strict";
import { test } from "node:test";
import { exposition } from "./exposition.ts";
import { makeMetrics } from "./metrics.ts";

test("the id of a model is escaped in a label", () => {
  const cost = { reportedNanoUsd: 1, listedNanoUsd: 2 };
  const text = exposition(makeMetrics().counts, [], new Map([['a"b\\c', cost]]));
  assert.match(text, /^inference_gateway_provider_cost_nano_usd_total\{model="a\\"b\\\\c"\} 1$/m);
});
