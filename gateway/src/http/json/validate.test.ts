import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { chatRequest } from "@inference/protocol/wire/chat";
import { chatRefusals } from "../../inference/requests/chat.ts";
import type { JsonObject } from "../../json-object.ts";
import { fieldValidator, validate } from "./validate.ts";

const good = { model: "m", messages: [{ role: "user", content: "hi" }] };
const bodies: JsonObject[] = [
  good,
  { ...good, temperature: 0.5, stop: ["a"], tools: [{ type: "function", function: { name: "f" } }] },
  {},
  { model: "m" },
  { messages: [] },
  { ...good, max_tokens: 1.5, n: 0 },
  { ...good, messages: [{ role: "nobody", content: "hi" }] },
  { ...good, messages: [{ role: "user", content: [{ type: "file" }] }] },
  { ...good, messages: [{ role: "user", content: "hi", more: 1 }] },
  { ...good, tools: [{ type: "web_search" }] },
  { ...good, stream_options: { include_usage: "yes" }, seed: "one" },
  { ...good, response_format: { type: "xml" } },
];

test("fields validated one by one come to what the whole schema says of them, errors included", () => {
  const fields = fieldValidator(chatRequest, chatRefusals);
  for (const body of bodies) {
    assert.deepEqual(
      outcomeOf(() => fields(body)),
      outcomeOf(() => validate(chatRequest, body, chatRefusals)),
      JSON.stringify(body),
    );
  }
});

function outcomeOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.detail;
  }
}
