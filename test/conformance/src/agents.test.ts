import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { Agent, OpenAIProvider, Runner, tool as toolOf } from "@openai/agents";
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { type Account, openAccount, readReceipts, spentBy } from "./account.ts";
import { openTarget, type Target } from "./target.ts";

/** Runs of several turns, as agents make them: the model thinks, calls tools, reads their answers and ends. */
const script = [
  { think: "I have to look.", say: "Reading.", calls: [{ name: "read", arguments: { path: "a" } }] },
  {
    calls: [
      { name: "read", arguments: { path: "b" } },
      { name: "write", arguments: { path: "c", text: '"two"\nlines' } },
    ],
  },
  { say: "All done: 🙂." },
];
const TASK = `Do it. <script>${JSON.stringify(script)}</script>`;
const CALLED = ["read a", "read b", 'write c "two"\nlines'];
const MODEL = "sim-small";
const parameters = {
  type: "object",
  properties: { path: { type: "string" }, text: { type: "string" } },
  required: ["path"],
} as const;

const isDeep = process.env.DEEP === "1";
let target: Target;
let account: Account;
before(async () => {
  target = await openTarget();
  account = await openAccount(target, 5);
});
after(() => target?.close());

/** An agent's tool calls and its last text. */
type Run = { called: string[]; said: string };
type Given = { path?: string; text?: string };
const shown = (name: string, { path, text }: Given): string => [name, path, ...(text ? [text] : [])].join(" ");

async function openaiRun(key: string, stream: boolean): Promise<Run> {
  const client = new OpenAI({ apiKey: key, baseURL: `${target.url}/v1` });
  const tools = ["read", "write"].map((name) => ({ type: "function" as const, name, parameters, strict: false }));
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: TASK }];
  const called: string[] = [];
  for (;;) {
    const body = { model: MODEL, input, tools, store: false, include: ["reasoning.encrypted_content" as const] };
    const response: OpenAI.Responses.Response = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    const calls = response.output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    input.push(...(response.output as OpenAI.Responses.ResponseInput));
    if (calls.length === 0) return { called, said: response.output_text };
    for (const call of calls) {
      called.push(shown(call.name, JSON.parse(call.arguments) as Given));
      input.push({ type: "function_call_output", call_id: call.call_id, output: "ok" });
    }
  }
}

async function anthropicRun(key: string, stream: boolean): Promise<Run> {
  const client = new Anthropic({ apiKey: key, baseURL: target.url });
  const tools = ["read", "write"].map((name) => ({ name, input_schema: { ...parameters, required: ["path"] } }));
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: TASK }];
  const called: string[] = [];
  for (;;) {
    const body = { model: MODEL, max_tokens: 200, messages, tools };
    const { input_tokens } = await client.messages.countTokens({ model: MODEL, messages, tools });
    assert.ok(input_tokens > 20);
    const message = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    messages.push({ role: "assistant", content: message.content });
    const results: Anthropic.ToolResultBlockParam[] = [];
    for (const block of message.content) {
      if (block.type !== "tool_use") continue;
      called.push(shown(block.name, block.input as Given));
      results.push({ type: "tool_result", tool_use_id: block.id, content: "ok" });
    }
    if (message.stop_reason === "end_turn") {
      return { called, said: message.content.map((block) => (block.type === "text" ? block.text : "")).join("") };
    }
    messages.push({ role: "user", content: results });
  }
}

type AiSdkModel = (key: string) => LanguageModel;

function aiSdkRun(modelFor: AiSdkModel): (key: string, stream: boolean) => Promise<Run> {
  return async (key, stream) => {
    const called: string[] = [];
    const toolNamed = (name: string) =>
      tool({
        inputSchema: jsonSchema<Given>(parameters as never),
        execute: async (given) => {
          called.push(shown(name, given));
          return "ok";
        },
      });
    const options = {
      model: modelFor(key),
      prompt: TASK,
      maxOutputTokens: 200,
      tools: { read: toolNamed("read"), write: toolNamed("write") },
      stopWhen: stepCountIs(5),
      providerOptions: { openai: { store: false } },
    };
    return { called, said: stream ? await streamText(options).text : (await generateText(options)).text };
  };
}

async function agentsSdkRun(key: string, stream: boolean): Promise<Run> {
  const provider = new OpenAIProvider({ apiKey: key, baseURL: `${target.url}/v1` });
  // Traces would go to OpenAI's own host.
  const runner = new Runner({ modelProvider: provider, tracingDisabled: true });
  const called: string[] = [];
  const tools = ["read", "write"].map((name) =>
    toolOf({
      name,
      description: name,
      strict: false,
      parameters: { ...parameters, required: ["path"], additionalProperties: true },
      async execute(given) {
        called.push(shown(name, given as Given));
        return "ok";
      },
    }),
  );
  const agent = new Agent({ name: "conformance", instructions: "Do it.", model: MODEL, tools });
  if (!stream) return { called, said: (await runner.run(agent, TASK)).finalOutput ?? "" };
  const result = await runner.run(agent, TASK, { stream: true });
  await result.completed;
  return { called, said: result.finalOutput ?? "" };
}

const openaiModel: AiSdkModel = (apiKey) => createOpenAI({ baseURL: `${target.url}/api/v1`, apiKey })(MODEL);
const anthropicModel: AiSdkModel = (apiKey) => createAnthropic({ baseURL: `${target.url}/v1`, apiKey })(MODEL);
const compatibleModel: AiSdkModel = (apiKey) =>
  createOpenAICompatible({ name: "gateway", baseURL: `${target.url}/v1`, apiKey })(MODEL);

const clients = {
  "openai, its Responses client": openaiRun,
  "@anthropic-ai/sdk": anthropicRun,
  "@openai/agents": agentsSdkRun,
  "@ai-sdk/openai, through Responses": aiSdkRun(openaiModel),
  "@ai-sdk/anthropic": aiSdkRun(anthropicModel),
  "@ai-sdk/openai-compatible, through chat": aiSdkRun(compatibleModel),
};

for (const [name, run] of Object.entries(clients)) {
  describe(name, () => {
    // A stream is the harder form of the two.
    for (const stream of isDeep ? [false, true] : [true]) {
      test(`runs an agent of three turns to its end, ${stream ? "streamed" : "whole"}, and pays each turn`, async () => {
        const { key } = await account.makeKey();
        assert.deepEqual(await run(key, stream), { called: CALLED, said: "All done: 🙂." });
        const receipts = await readReceipts(target, key);
        assert.equal(receipts.length, 3);
        const charged = receipts.reduce((sum, receipt) => sum + receipt.charge_nano_usd, 0);
        assert.ok(charged > 0);
        assert.equal(await spentBy(target, key), charged);
      });
    }
  });
}

test("Anthropic's client knows our errors by their types", async () => {
  const { key } = await account.makeKey();
  const client = new Anthropic({ apiKey: key, baseURL: target.url });
  const body = { model: "nobody", max_tokens: 5, messages: [{ role: "user" as const, content: "x" }] };
  await assert.rejects(client.messages.create(body), Anthropic.NotFoundError);
  const stranger = new Anthropic({ apiKey: "wrong", baseURL: target.url });
  await assert.rejects(stranger.messages.create(body), Anthropic.AuthenticationError);
  const listed = await client.models.list();
  assert.ok(listed.data.some(({ id, display_name }) => id === MODEL && display_name !== ""));
});
