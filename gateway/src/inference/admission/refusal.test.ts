import assert from "node:assert/strict";
import { test } from "node:test";
import type { Refusal } from "@inference/ledger/commands";
import type { Spender } from "../../auth/spender.ts";
import { quoteText } from "../../pricing/quote.ts";
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

test("too many in flight names whose they are: an account's, or an identity's", () => {
  const whose = (budget: Refusal["budget"]) =>
    refusalError({ ...refusal, budget, cause: "in_flight" }, quote, 0).detail.message;
  assert.match(whose("balance"), /of this account are in flight/);
  assert.match(whose("capacity"), /of this identity are in flight/);
});

test("holds in the way of the ceiling are those of others, or one's own", () => {
  const codeOf = (held: Partial<Refusal>) =>
    refusalError({ ...refusal, budget: "ceiling", ...held }, quote, 0).detail.code;
  assert.equal(codeOf({}), "ceiling_reserved");
  assert.equal(codeOf({ cause: "share_held" }), "too_many_in_flight");
});

test("what holds are in the way of says when to try again", () => {
  for (const [budget, cause] of [
    ["balance", "in_flight"],
    ["balance", "held"],
    ["key", "held"],
    ["capacity", "held"],
    ["ceiling", "held"],
    ["ceiling", "share_held"],
  ] as const) {
    const { detail } = refusalError({ ...refusal, budget, cause }, quote, 0);
    assert.match(detail.message, /retry (in a few seconds|when one of them has ended)\.$/i, `${budget} ${cause}`);
  }
});

const settled: Refusal = { ...refusal, cause: "settled", availableNanoUsd: 0 };
const messageOf = (changed: Partial<Refusal>, spender: Spender | null = null) =>
  refusalError({ ...settled, ...changed }, quote, 0, spender).detail.message;

test("a ceiling with something left says how much, what would fit and when it resets", () => {
  const resetsAt = Date.UTC(2026, 10, 23);
  const { detail } = refusalError({ ...settled, budget: "ceiling", availableNanoUsd: 40, resetsAt }, quote, 0);
  assert.equal(detail.code, "daily_cap_reached");
  assert.equal(
    detail.message,
    "This request could cost $0.0000001. Only $0.00000004 is left of the gateway's settlement ceiling for today. " +
      "Send max_tokens of at most 40. It resets at 2026-11-23T00:00:00.000Z.",
  );
  assert.equal(detail.metadata?.max_affordable_tokens, 40);
});

test("a refusal suggests fewer tokens only where some would fit, and always says what else to do", () => {
  for (const [budget, wanted] of [
    ["balance", /\$0 is available\. Activate more tokens\.$/],
    ["key", /\$0 is left of this key's limit\. .*POST \/api\/v1\/keys\/\{id\}\/limit/],
    ["ceiling", /\$0 is left of the gateway's settlement ceiling for today\. It resets at/],
  ] as const) {
    const message = messageOf({ budget, resetsAt: budget === "ceiling" ? 0 : null });
    assert.match(message, wanted);
    assert.doesNotMatch(message, /max_tokens/);
  }
  assert.match(messageOf({ availableNanoUsd: 40 }), /max_tokens of at most 40\. Or activate more tokens\.$/);
});

test("a wallet's session without capacity is told that an API key spends the wallet's balance, an agent's is not", () => {
  const address = `0x${"1".repeat(40)}` as const;
  const capacity = { budget: "capacity", resetsAt: 0 } as const;
  assert.match(messageOf(capacity, { address, agentToken: null }), /An API key spends the wallet's balance instead/);
  assert.doesNotMatch(messageOf(capacity, { address, agentToken: address }), /API key/);
});
