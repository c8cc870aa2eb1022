import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import {
  anyAnswer,
  anyMessage,
  asHistory,
  cutAt,
  fetchOf,
  quote,
  type StreamEnd,
  streamOf,
  writerContext,
  written,
} from "../../../test/formats/chat-answers.ts";
import { context, orderWith } from "../../../test/models.ts";
import { writeWhole } from "../answer/answer-format.ts";
import { parseMessagesOrder } from "../requests/messages.ts";
import { createMessagesWriter } from "./messages-writer.ts";
import { chargedFor } from "./usage-json.ts";

const makeWriter = () => createMessagesWriter("m", writerContext);
const usage = {
  promptTokens: 339,
  completionTokens: 227,
  cacheReadTokens: 128,
  cacheWriteTokens: 0,
  reasoningTokens: 32,
};
const charged = chargedFor(quote, { usage, delivered: { bytes: 0, events: 0 } });

const answers = anyAnswer(["read", "write"]);

function accumulated(text: string): Promise<object> {
  const client = new Anthropic({
    apiKey: "k",
    baseURL: "http://a",
    maxRetries: 0,
    fetch: fetchOf(text, "text/event-stream"),
  });
  return client.messages
    .stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "x" }] })
    .finalMessage();
}

test("what Anthropic's client makes of any stream is our whole answer", async () => {
  await fc.assert(
    fc.asyncProperty(answers, fc.constantFrom<StreamEnd>("done", "no [DONE]"), async (answer, end) => {
      const { message, deltas, reason, cuts } = answer;
      const text = written(makeWriter(), cutAt(streamOf(deltas, reason, end), cuts));
      const chat = { model: "m", choices: [{ index: 0, message, finish_reason: reason }] };
      const whole = JSON.parse(writeWhole(makeWriter(), JSON.stringify(chat), charged));
      const said = JSON.parse(JSON.stringify(await accumulated(text)));
      // The client copies the counts it knows.
      const { cost: _, cost_nano_usd: __, ...counts } = whole.usage;
      const { parsed_output: ___, ...rest } = said;
      const content = rest.content.map(({ parsed_output: _, ...block }: { parsed_output?: unknown }) => block);
      assert.deepEqual({ ...rest, content, usage: { ...rest.usage, ...counts } }, { ...whole, usage: rest.usage });
      for (const [name, count] of Object.entries(counts)) assert.equal(rest.usage[name], count, name);
    }),
    { numRuns: runs(100) },
  );
});

test("a call whose arguments are no object has an empty input, however the answer is sent", async () => {
  for (const given of ['{"a": "b', '{"a":1,', '{"a":1} x', "[1]", "12", "null", "garbage"]) {
    const call = { id: "call_1", type: "function", function: { name: "read", arguments: given } };
    const stream = streamOf([{ tool_calls: [{ index: 0, ...call }] }], "length", "done");
    const chat = { model: "m", choices: [{ index: 0, message: { tool_calls: [call] }, finish_reason: "length" }] };
    const whole = JSON.parse(writeWhole(makeWriter(), JSON.stringify(chat), charged));
    const said = JSON.parse(JSON.stringify(await accumulated(written(makeWriter(), [stream]))));
    assert.deepEqual([said.content[0].input, whole.content[0].input], [{}, {}], given);
  }
});

test("arguments that come as an object are the call's input", () => {
  const tool_calls = [{ id: "call_1", type: "function", function: { name: "read", arguments: { path: "a" } } }];
  const chat = { model: "m", choices: [{ index: 0, message: { tool_calls }, finish_reason: "tool_calls" }] };
  assert.deepEqual(JSON.parse(writeWhole(makeWriter(), JSON.stringify(chat), charged)).content[0].input, { path: "a" });
});

test("an answer that calls a tool stops for it, whatever the provider calls that", () => {
  const stopOf = (message: object, finish_reason: string): string => {
    const chat = { model: "m", choices: [{ index: 0, message, finish_reason }] };
    return JSON.parse(writeWhole(makeWriter(), JSON.stringify(chat), charged)).stop_reason;
  };
  const tool_calls = [{ id: "call_1", type: "function", function: { name: "read", arguments: "{}" } }];
  assert.deepEqual(
    [stopOf({ tool_calls }, "stop"), stopOf({ tool_calls }, "length"), stopOf({ content: "x" }, "stop")],
    ["tool_use", "max_tokens", "end_turn"],
  );
});

test("blocks have ascending indices, one is open at a time, and an event is named after its type", () => {
  fc.assert(
    fc.property(answers, ({ deltas, reason }) => {
      const events = written(makeWriter(), [streamOf(deltas, reason, "done")])
        .split("\n\n")
        .filter((block) => block !== "")
        .map((block) => {
          const [name, data] = block.split("\n");
          const event = JSON.parse(data?.slice(6) ?? "") as { type: string; index?: number };
          assert.equal(name, `event: ${event.type}`);
          return event;
        });
      let open: number | undefined;
      let next = 0;
      for (const { type, index } of events) {
        if (type === "content_block_start") {
          assert.deepEqual([open, index], [undefined, next]);
          open = next++;
        } else if (type.startsWith("content_block")) assert.equal(index, open);
        if (type === "content_block_stop") open = undefined;
      }
      const types = events.map(({ type }) => type).filter((type) => !type.startsWith("content_block"));
      assert.deepEqual(types, ["message_start", "message_delta", "message_stop"]);
    }),
    { numRuns: runs(166) },
  );
});

test("wherever a stream is cut into chunks, the same events go out; one that fails ends in an error", async () => {
  await fc.assert(
    fc.asyncProperty(answers, fc.constantFrom<StreamEnd>("done", "cut", "error"), async (answer, end) => {
      const { deltas, reason, cuts } = answer;
      const stream = streamOf(deltas, reason, end);
      const text = written(makeWriter(), cutAt(stream, cuts));
      assert.equal(text, written(makeWriter(), [stream]));
      if (end === "done") return;
      assert.match(text, /\n\nevent: error\ndata: \{"type":"error","error":\{"type":"api_error",[^\n]*\n\n$/);
      assert.ok(!text.includes("provider's own words"));
      await assert.rejects(accumulated(text), Anthropic.APIError);
    }),
    { numRuns: runs(100) },
  );
});

test("an answer that comes back as history is the same conversation", () => {
  const parse = orderWith(parseMessagesOrder);
  const seal = (text: string) => context.reasoningSeal.seal({ account: context.account, model: "text-1" }, text);
  fc.assert(
    fc.property(anyMessage(["read", "write"]), (message) => {
      const writer = createMessagesWriter("m", { ...writerContext, seal });
      const chat = { model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] };
      const { content } = JSON.parse(writeWhole(writer, JSON.stringify(chat), charged));
      const results = message.tool_calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "ok" }));
      const given = [
        { role: "user", content: "Go" },
        { role: "assistant", content },
        { role: "user", content: [...results, { type: "text", text: "On" }] },
      ];
      const { upstreamBody } = parse({ model: "text-1", max_tokens: 10, messages: given }, context);
      const calls = message.tool_calls.map((call) => {
        const { name, arguments: input } = call.function;
        return { ...call, function: { name, arguments: JSON.stringify(JSON.parse(input)) } };
      });
      assert.deepEqual(JSON.parse(upstreamBody).messages, [
        { role: "user", content: "Go" },
        ...asHistory(message, calls),
        { role: "user", content: "On" },
      ]);
    }),
    { numRuns: runs(166) },
  );
});
