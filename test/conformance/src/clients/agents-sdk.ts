import { Agent, type ModelResponse, OpenAIProvider, type RunItem, Runner, tool as toolOf } from "@openai/agents";
import OpenAI from "openai";
import { type Ask, type Client, chatAlone, type Said, tool } from "./client.ts";
import { failureOf } from "./openai-responses.ts";

/** OpenAI's Agents SDK, which speaks the Responses API if nothing else is said. */
export const agentsSdk: Client = {
  name: "@openai/agents",
  cannot: {},
  waitsInside: true,
  async open({ baseUrl, apiKey, wire, retries }) {
    const openAIClient = new OpenAI({ baseURL: baseUrl, apiKey, fetch: wire.fetch, maxRetries: retries });
    // Traces would go to OpenAI's own host.
    const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true });
    const options = ({ signal }: Ask) => (signal === undefined ? {} : { signal });
    return {
      chat: async (ask) => saidOf(await runner.run(agentOf(ask), ask.text, options(ask))),
      async streamChat(ask, onText) {
        const result = await runner.run(agentOf(ask), ask.text, { ...options(ask), stream: true });
        for await (const event of result) {
          if (event.type !== "raw_model_stream_event") continue;
          if (event.data.type === "output_text_delta") onText(event.data.delta);
          // Its own error does not say why.
          if (event.data.type === "model") throwFailure(event.data.event);
        }
        await result.completed;
        // It ends without an error if it was aborted.
        ask.signal?.throwIfAborted();
        return saidOf(result);
      },
      ...chatAlone,
      failure: failureOf,
    };
  },
};

function agentOf({ model, maxTokens, withTool }: Ask) {
  const { name, description, parameters } = tool;
  const offered = toolOf({
    name,
    description,
    strict: false,
    parameters: { ...parameters, required: [...parameters.required], additionalProperties: true },
    execute: async () => "nothing",
  });
  return new Agent({
    name: "conformance",
    model,
    modelSettings: { maxTokens, store: false },
    tools: withTool === true ? [offered] : [],
    toolUseBehavior: "stop_on_first_tool",
  });
}

type Result = { newItems: RunItem[]; rawResponses: ModelResponse[] };

function saidOf({ newItems, rawResponses }: Result): Said {
  const items = newItems.map(({ rawItem }) => rawItem);
  const calls = items.flatMap((item) => (item?.type === "function_call" ? [item] : []));
  const texts = items.flatMap((item) => (item?.type === "message" && item.role === "assistant" ? item.content : []));
  const [answer] = rawResponses;
  return {
    text: texts.map((part) => (part.type === "output_text" ? part.text : "")).join(""),
    // It does not say why an answer stopped.
    finish: calls.length > 0 ? "tool_calls" : "stop",
    usage: answer === undefined ? null : { prompt: answer.usage.inputTokens, completion: answer.usage.outputTokens },
    calls,
  };
}

function throwFailure(event: unknown): void {
  const { type, response } = event as { type?: string; response?: { error: { message: string } } };
  if (type === "response.failed") throw new Error(response?.error.message);
}
