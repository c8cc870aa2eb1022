import assert from "node:assert/strict";
import { test } from "node:test";
import type { Refusal } from "@inference/ledger/commands";
import { quoteText } from "../metering/quote-text.ts";
import { refusalError } from "./refusal.ts";

const quote = quoteText({
  snapshotId: "s",
  price: { kind: "text", rates: { input: 0n, output: 1_000_000_000n } },
  promptTokens: 10,
  choices: 1,
  maxTokens: 100,
  modelMaxTokens: 1_000,
});
const refusal: Refusal = {
  budget: "balance",
  cause: "held",
  neededNanoUsd: 100,
  availableNanoUsd: 40,
  window: "lifetime",
  resetsAt: null,
};

test("an amount that does not fit is told with what would", () => {
  const { detail } = refusalError(refusal, quote, 0);
  const { param, metadata } = detail;
  const numbers = { needed_nano_usd: 100, available_nano_usd: 40, max_affordable_tokens: 40 };
  assert.deepEqual({ param, metadata }, { param: "max_tokens", metadata: numbers });
});

test("too many in flight says nothing of amounts", () => {
  const { detail } = refusalError({ ...refusal, cause: "in_flight", availableNanoUsd: 0 }, quote, 0);
  assert.equal(detail.code, "too_many_in_flight");
  assert.deepEqual([detail.param, detail.metadata], [null, { needed_nano_usd: 100 }]);
});
