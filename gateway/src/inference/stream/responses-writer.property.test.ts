import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import OpenAI from "openai";
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
import { parseResponsesOrder } from "../requests/responses.ts";
import type { LoweredTools } from "../requests/responses-tools.ts";
import { createResponsesWriter } from "./responses-writer.ts";
import { chargedFor } from "./usage-json.ts";

const tools: LoweredTools = new Map([
  ["mcp__read", { kind: "function", name: "read", namespace: "mcp" }],
  ["apply_patch", { kind: "custom", name: "apply_patch", namespace: null }],
  ["tool_search", { kind: "tool_search", name: "tool_search", namespace: null }],
]);
const names = ["list", ...tools.keys()];
const echo = {
  model: "m",
  temperature: null,
  top_p: null,
  tool_choice: "auto",
  parallel_tool_calls: true,
  max_output_tokens: 1000,
};
const makeWriter = () => createResponsesWriter(tools, echo, writerContext);

type Item = Record<string, unknown> & { type: string; id: string };
type Event = Record<string, unknown> & { type: string };

const answers = anyAnswer(names);

/** Reads the events strictly by the rules of the API, and puts the items together from their deltas. */
function readEvents(text: string): { output: Item[]; final: Record<string, unknown>; last: string } {
  const events = text
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block) => {
      const [name, data] = block.split("\n");
      const event = JSON.parse(data?.slice("data: ".length) ?? "") as Event;
      assert.equal(name, `event: ${event.type}`);
      return event;
    });
  const output: Item[] = [];
  let open: { item: Item; text: string; said: boolean } | undefined;
  for (const [index, event] of events.entries()) {
    assert.equal(event.sequence_number, index);
    if (event.type.startsWith("response.output_item.")) assert.equal(event.output_index, output.length);
    if (event.type === "response.output_item.added") {
      assert.equal(open, undefined, "one item is open at a time");
      open = { item: event.item as Item, text: "", said: false };
    } else if (event.type === "response.output_item.done") {
      const item = event.item as Item;
      assert.deepEqual([item.id, item.type], [open?.item.id, open?.item.type]);
      if (item.type !== "tool_search_call") assert.equal(textOfItem(item), open?.text);
      output.push(item);
      open = undefined;
    } else if ("item_id" in event) {
      assert.deepEqual([event.item_id, event.output_index], [open?.item.id, output.length]);
      if (open !== undefined && event.type.endsWith(".delta")) open.text += String(event.delta);
      const done = event.text ?? event.refusal ?? event.arguments ?? event.input;
      if (done !== undefined) assert.equal(done, open?.text);
    } else assert.ok(index < 2 || index === events.length - 1, event.type);
  }
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    ["response.created", "response.in_progress"],
  );
  const last = events.at(-1) as Event;
  if (last.type !== "response.failed") assert.equal(open, undefined);
  return { output, final: last.response as Record<string, unknown>, last: last.type };
}

function textOfItem(item: Item): unknown {
  if (item.type === "message") {
    const [part] = item.content as { text?: string; refusal?: string }[];
    return part?.text ?? part?.refusal;
  }
  if (item.type === "reasoning") return (item.summary as { text: string }[])[0]?.text;
  return item.arguments ?? item.input;
}

async function accumulated(text: string): Promise<unknown> {
  const client = new OpenAI({ apiKey: "k", baseURL: "http://a/v1", fetch: fetchOf(text, "text/event-stream") });
  const stream = client.responses.stream({ model: "m", input: "x" });
  const { output } = await stream.finalResponse();
  return output.map(({ parsed_arguments: _, ...item }: object & { parsed_arguments?: unknown }) => item);
}

test("what a client makes of any stream is our whole answer", async () => {
  await fc.assert(
    fc.asyncProperty(answers, fc.constantFrom<StreamEnd>("done", "no [DONE]"), async (answer, end) => {
      const { message, deltas, reason, cuts } = answer;
      const text = written(makeWriter(), cutAt(streamOf(deltas, reason, end), cuts));
      const { output, final, last } = readEvents(text);
      const isWhole = reason === "stop" || reason === "tool_calls";
      assert.equal(last, isWhole ? "response.completed" : "response.incomplete");
      assert.deepEqual(final.output, output);
      const usage = {
        promptTokens: 339,
        completionTokens: 227,
        cacheReadTokens: 128,
        cacheWriteTokens: 0,
        reasoningTokens: 32,
      };
      const delivered = { bytes: 0, events: 0 };
      const chat = { model: "m", choices: [{ index: 0, message, finish_reason: reason }] };
      const whole = JSON.parse(writeWhole(makeWriter(), JSON.stringify(chat), chargedFor(quote, { usage, delivered })));
      assert.deepEqual(whole, final);
      const said = await accumulated(text);
      // The client adds what it parsed of a text.
      assert.deepEqual(
        JSON.parse(JSON.stringify(said, (key, value) => (key === "parsed" ? undefined : value))),
        output,
      );
    }),
    { numRuns: runs(100) },
  );
});

test("wherever a stream is cut into chunks, the same events go out", () => {
  fc.assert(
    fc.property(answers, fc.constantFrom<StreamEnd>("done", "cut", "error"), ({ deltas, reason, cuts }, end) => {
      const stream = streamOf(deltas, reason, end);
      assert.equal(written(makeWriter(), cutAt(stream, cuts)), written(makeWriter(), [stream]));
    }),
    { numRuns: runs(166) },
  );
});

test("a stream that fails ends in response.failed, with the items that were complete", () => {
  fc.assert(
    fc.property(answers, fc.constantFrom<StreamEnd>("cut", "error"), ({ deltas, reason }, end) => {
      const text = written(makeWriter(), [streamOf(deltas, reason, end)]);
      const { output, final, last } = readEvents(text);
      assert.equal(last, "response.failed");
      assert.deepEqual([final.status, final.output, final.usage], ["failed", output, null]);
      assert.equal((final.error as { code: string }).code, "server_error");
      assert.ok(!text.includes("provider's own words"));
    }),
    { numRuns: runs(100) },
  );
});

test("an answer that comes back as history is the same conversation", () => {
  const parse = orderWith(parseResponsesOrder);
  const seal = (text: string) => context.reasoningSeal.seal({ account: context.account, model: "text-1" }, text);
  fc.assert(
    fc.property(anyMessage(names.slice(0, 3)), (message) => {
      const writer = createResponsesWriter(tools, echo, { ...writerContext, seal });
      const chat = { model: "m", choices: [{ index: 0, message, finish_reason: "stop" }] };
      const usage = "missing" as const;
      const charged = chargedFor(quote, { usage, delivered: { bytes: 0, events: 0 } });
      const { output } = JSON.parse(writeWhole(writer, JSON.stringify(chat), charged)) as { output: Item[] };
      const answers = message.tool_calls.map(({ id }) => ({ type: "function_call_output", call_id: id, output: "ok" }));
      const input = [{ role: "user", content: "Go" }, ...output, ...answers];
      const { messages } = JSON.parse(parse({ model: "text-1", input }, context).upstreamBody);
      const calls = message.tool_calls.map((call) => {
        const { input: raw } = JSON.parse(call.function.arguments) as { input?: unknown };
        if (call.function.name !== "apply_patch" || typeof raw === "string") return call;
        // A model that does not keep to the one parameter: what it wrote is the input.
        return {
          ...call,
          function: { ...call.function, arguments: JSON.stringify({ input: call.function.arguments }) },
        };
      });
      assert.deepEqual(messages.slice(1), asHistory(message, calls));
    }),
    { numRuns: runs(166) },
  );
});
