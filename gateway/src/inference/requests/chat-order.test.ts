import assert from "node:assert/strict";
import { test } from "node:test";
import { context, models, orderWith, refused } from "../../../test/models.ts";
import { parseJsonBody } from "../../http/json/parse-json-body.ts";
import * as route from "./chat.ts";
import { readMaxTokens } from "./chat-order.ts";

const parseChatOrder = orderWith(route.parseChatOrder);

const messages = [{ role: "user", content: "Hi" }];
const order = (fields: object, more: object = {}) =>
  parseChatOrder({ model: "text-1", messages, ...fields }, { ...context, ...more });
const sent = (fields: object, more: object = {}): Record<string, unknown> =>
  JSON.parse(order(fields, more).upstreamBody);

test("one limit is always sent, under one name; absent or null is the model's maximum", () => {
  assert.equal(sent({}).max_completion_tokens, 24_000);
  assert.equal(sent({ max_tokens: null, max_completion_tokens: null }).max_completion_tokens, 24_000);
  assert.equal(sent({ max_tokens: 1 }).max_completion_tokens, 1);
  assert.equal(sent({ max_completion_tokens: 24_000 }).max_completion_tokens, 24_000);
  const old = sent({ max_completion_tokens: 7 }, { chatOutputField: "max_tokens" });
  assert.deepEqual([old.max_tokens, old.max_completion_tokens], [7, undefined]);
});

test("both names are taken if they agree", () => {
  assert.equal(sent({ max_tokens: 5, max_completion_tokens: 5 }).max_completion_tokens, 5);
  refused(() => order({ max_tokens: 5, max_completion_tokens: 6 }), "invalid_request", "max_tokens");
});

test("what is no whole number from 1 to the model's maximum is refused, naming the field and the maximum", () => {
  const bad = [
    "0",
    "-1",
    "-0",
    "1.5",
    '"100"',
    "true",
    "[]",
    "{}",
    "1e9",
    "1e300",
    "-1e300",
    "9007199254740992",
    "24001",
  ];
  for (const field of ["max_tokens", "max_completion_tokens"]) {
    for (const value of bad) {
      const body = parseJsonBody(
        Buffer.from(`{"model":"text-1","messages":[{"role":"user","content":"x"}],"${field}":${value}}`),
      );
      assert.match(
        refused(() => parseChatOrder(body, context), "invalid_request", field),
        /24000/,
        value,
      );
    }
  }
});

test("a model without a listed maximum has its context's, and without a context the client must say one", () => {
  assert.equal(sent({ model: "context-only" }).max_completion_tokens, 5000);
  refused(() => order({ model: "unlimited" }), "invalid_request", "max_completion_tokens");
  assert.equal(sent({ model: "unlimited", max_tokens: 9 }).max_completion_tokens, 9);
  refused(() => order({ model: "unlimited", max_tokens: 2 ** 53 }), "invalid_request", "max_tokens");
});

test("what is affordable is never above the model's own maximum", () => {
  const model = models.get("text-1");
  assert.ok(model !== undefined);
  assert.deepEqual(readMaxTokens({ max_tokens: 5 }, model), { maxTokens: 5, modelMaxTokens: 24_000 });
  assert.equal(order({ max_tokens: 5 }).quote.affordableTokens(1e12), 24_000);
});
