import assert from "node:assert/strict";
import { test } from "node:test";
import { context, models, refused } from "../../../test/models.ts";
import type { JsonObject } from "../../json-object.ts";
import { parseChatOrder } from "./chat.ts";
import { makeOrder } from "./make-order.ts";
import { parseMessagesOrder } from "./messages.ts";
import { ordersOf } from "./order.ts";
import { parseResponsesOrder } from "./responses.ts";

const messages = [{ role: "user", content: "Hi" }];
const chat = (fields: JsonObject) =>
  ordersOf(makeOrder(parseChatOrder({ messages, max_tokens: 9, ...fields }, context)));
const idsOf = (fields: JsonObject): string[] => chat(fields).map(({ model }) => model.id);

test("the models of a request are `model`, `models` and those of aliases, each once and in this order", () => {
  assert.deepEqual(idsOf({ model: "text-1" }), ["text-1"]);
  assert.deepEqual(idsOf({ model: "text-1", models: null }), ["text-1"]);
  assert.deepEqual(idsOf({ model: "text-1", models: [] }), ["text-1"]);
  assert.deepEqual(idsOf({ models: ["seeing", "text-1"] }), ["seeing", "text-1"]);
  assert.deepEqual(idsOf({ model: "text-1", models: ["seeing", "text-1", "unlimited"] }), [
    "text-1",
    "seeing",
    "unlimited",
  ]);
  // An alias stands for its models that are served and write text, or for the first.
  assert.deepEqual(idsOf({ model: "chain" }), ["text-1", "seeing"]);
  assert.deepEqual(idsOf({ model: "unlimited", models: ["chain", "smart"] }), ["unlimited", "text-1", "seeing"]);
});

test("an id in an alias is no alias", () => {
  const aliases = { ours: ["text-1", "seeing"], "text-1": ["unlimited"] };
  const parsed = parseChatOrder({ model: "ours", messages, max_tokens: 9 }, { ...context, aliases });
  assert.deepEqual([parsed.model.id, parsed.fallback?.model.id], ["text-1", "seeing"]);
});

test("each model has a body of its own, without the list, and the hold covers the dearest", () => {
  const dear = { ...models.get("seeing"), id: "dear" } as never;
  const price = { kind: "text", rates: { input: 10n ** 14n, output: 10n ** 14n } };
  const snapshot = {
    ...context.snapshot,
    models: new Map([...models, ["dear", { ...(dear as object), price } as never]]),
  };
  const order = makeOrder(
    parseChatOrder({ models: ["text-1", "dear", "unlimited"], messages, max_tokens: 9 }, { ...context, snapshot }),
  );
  const orders = ordersOf(order);
  const bodies = orders.map(({ upstreamBody }) => JSON.parse(Buffer.from(upstreamBody).toString()) as JsonObject);
  assert.deepEqual(
    bodies.map(({ model, models: list }) => [model, list]),
    [
      ["text-1", undefined],
      ["dear", undefined],
      ["unlimited", undefined],
    ],
  );
  const most = orders.map(({ quote }) => quote.maxNanoUsd);
  assert.equal(order.hold.maxNanoUsd, Math.max(...most));
  assert.equal(order.hold.maxNanoUsd, most[1]);
  const affordable = order.hold.affordableTokens(most[1] ?? 0);
  assert.equal(affordable, 9, "what the dearest affords");
  // A hold of what is left is for the models that are left.
  assert.equal(order.fallback?.fallback?.hold, orders[2]?.quote);
});

test("a list that cannot be served as a whole is refused, with the name that is the cause", () => {
  refused(() => chat({ model: "text-1", models: ["nobody"] }), "model_not_found", "models[0]");
  refused(() => chat({ models: ["text-1", "nobody"] }), "model_not_found", "models[1]");
  refused(() => chat({ model: "text-1", models: ["embed"] }), "invalid_request", "models[0]");
  refused(() => chat({ model: "text-1", models: [5] }), "invalid_request", "models[0]");
  refused(() => chat({ model: 5, models: ["text-1"] }), "invalid_request", "model");
  refused(() => chat({ models: [] }), "invalid_request", "model");
  refused(() => chat({ model: "text-1", models: "seeing" }), "invalid_request", "models");
  refused(() => chat({ models: Array(6).fill("text-1") }), "invalid_request", "models");
  const many = { ...context, aliases: { many: ["text-1", "seeing", "unlimited", "context-only", "text-1:free"] } };
  const six = { models: ["many", "seeing-unbounded"], messages, max_tokens: 9 };
  assert.match(
    refused(() => parseChatOrder(six, many), "invalid_request", "models"),
    /5 models at most\. This one has 6/,
  );
  // A request must be one that each model takes.
  const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://x/y.png" } }] }];
  refused(
    () => chat({ models: ["seeing", "text-1"], messages: image }),
    "unsupported_parameter",
    "messages[0].content[0].type",
  );
  refused(() => chat({ models: ["text-1", "seeing-unbounded"], max_tokens: 101 }), "invalid_request", "max_tokens");
});

test("a body above 512 KiB is read for its first model only", () => {
  const long = [{ role: "user", content: "x".repeat(512 * 1024) }];
  assert.deepEqual(idsOf({ models: ["unlimited", "text-1"], messages: long }), ["unlimited"]);
  refused(() => chat({ models: ["unlimited", "nobody"], messages: long }), "model_not_found", "models[1]");
});

test("the Messages and the Responses API have fallbacks too, each with its model's own limit", () => {
  const models = ["text-1", "seeing-unbounded"];
  const message = makeOrder(parseMessagesOrder({ models, messages, max_tokens: 200 }, context));
  const response = makeOrder(parseResponsesOrder({ models, input: "Hi" }, context));
  for (const [order, limit] of [
    [message, "200"],
    [response, "24000"],
  ] as const) {
    assert.deepEqual(
      ordersOf(order).map(({ headers }) => headers?.["x-max-output-tokens"]),
      [limit, "100"],
    );
    assert.ok(order.fallback?.format !== undefined);
  }
  const less = ordersOf(response.limitChoice?.rewrite(5_000) ?? response);
  assert.deepEqual(
    less.map(({ quote }) => quote.bound?.completionTokens),
    [5_000, 100],
  );
});
