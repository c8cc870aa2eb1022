import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { writerContext } from "../../../test/formats/chat-answers.ts";
import { readContent } from "./choice-content.ts";
import { createMessagesWriter } from "./messages-writer.ts";
import { createResponsesWriter } from "./responses-writer.ts";

const echo = {
  ...{ model: "m", temperature: null, top_p: null, tool_choice: "auto" },
  ...{ parallel_tool_calls: true, max_output_tokens: 1000 },
};
const usage = { promptTokens: 9, completionTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
const charged = { usage, costNanoUsd: 7, isEstimated: false };
const responses = () => createResponsesWriter(new Map(), echo, writerContext);

function lastEvent(text: string): { type: string; response: { status: string; error: unknown; usage: unknown } } {
  return JSON.parse(text.trim().split("\n\n").at(-1)?.split("\ndata: ")[1] ?? "");
}

test("an answer whose provider says at its end that it failed is a failed response, with what it has and costs", () => {
  const writer = responses();
  writer.add(readContent({ content: "half of" }));
  writer.finish("error");
  writer.end(charged);
  const { type, response } = lastEvent(writer.take());
  deepEqual([type, response.status], ["response.failed", "failed"]);
  deepEqual(JSON.parse(writer.whole()), response);
  deepEqual(response.error, { code: "server_error", message: "The provider's model failed." });
  equal((JSON.parse(writer.whole()) as { output: unknown[] }).output.length, 1);
});

for (const [code, said] of Object.entries({
  context_length_exceeded: "context_length_exceeded",
  content_policy_violation: "invalid_prompt",
  upstream_error: "server_error",
})) {
  test(`a stream that fails with ${code} fails as ${said}`, () => {
    const writer = responses();
    writer.fail({ code, message: "no" } as Parameters<typeof writer.fail>[0]);
    deepEqual(lastEvent(writer.take()).response.error, { code: said, message: "no" });
  });
}

for (const [name, makeWriter] of Object.entries({
  responses,
  messages: () => createMessagesWriter("m", writerContext),
})) {
  test(`reasoning that comes as details alone is in the answer, once (${name})`, () => {
    const writer = makeWriter();
    writer.add(readContent({ reasoning_details: [{ type: "reasoning.text", text: "first " }] }));
    writer.add(readContent({ reasoning: "then ", reasoning_details: [{ type: "reasoning.text", text: "then " }] }));
    const details = [{ type: "reasoning.summary", summary: "last" }, { type: "reasoning.encrypted" }];
    writer.add(readContent({ reasoning_details: details }));
    writer.end(charged);
    equal(writer.whole().split('"first then last"').length, 2);
  });
}
