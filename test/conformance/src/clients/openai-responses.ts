import OpenAI from "openai";
import { type Ask, type Client, chatAlone, type Said, tool } from "./client.ts";

export const openaiResponses: Client = {
  name: "openai, its Responses client",
  cannot: {},
  waitsInside: true,
  async open({ baseUrl, apiKey, wire, retries }) {
    const client = new OpenAI({ baseURL: baseUrl, apiKey, fetch: wire.fetch, maxRetries: retries });
    return {
      chat: async (ask) => saidOf(await client.responses.create(bodyOf(ask), { signal: ask.signal })),
      async streamChat(ask, onText) {
        const stream = client.responses.stream(bodyOf(ask), { signal: ask.signal });
        stream.on("response.output_text.delta", ({ delta }) => onText(delta));
        const response = await stream.finalResponse();
        // It does not throw for an answer that failed.
        if (response.error !== null) throw new Error(response.error.message);
        return saidOf(response);
      },
      ...chatAlone,
      failure: failureOf,
    };
  },
};

/** Reads the library's errors, and the errors that it passes on. */
export function failureOf(error: unknown) {
  if (!(error instanceof OpenAI.APIError)) return { status: null, code: null, message: (error as Error).message };
  return { status: error.status ?? null, code: error.code ?? null, message: error.message };
}

function bodyOf({ model, text, maxTokens, withTool }: Ask) {
  const offered = { type: "function" as const, ...tool, parameters: { ...tool.parameters }, strict: false };
  return {
    model,
    input: text,
    max_output_tokens: maxTokens,
    store: false,
    ...(withTool === true ? { tools: [offered] } : {}),
  };
}

function saidOf({ output, output_text: text, status, usage }: OpenAI.Responses.Response): Said {
  const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
  const finish = calls.length > 0 ? "tool_calls" : status === "completed" ? "stop" : "length";
  return {
    text,
    finish,
    usage: usage === undefined ? null : { prompt: usage.input_tokens, completion: usage.output_tokens },
    calls,
  };
}
