import Anthropic from "@anthropic-ai/sdk";
import { type Ask, type Client, chatAlone, type Said, tool } from "./client.ts";

export const anthropic: Client = {
  name: "@anthropic-ai/sdk",
  cannot: {},
  async open({ baseUrl, apiKey, wire, retries }) {
    // It adds `/v1` by itself.
    const baseURL = baseUrl.replace(/\/v1$/, "");
    const client = new Anthropic({ baseURL, apiKey, fetch: wire.fetch, maxRetries: retries });
    return {
      chat: async (ask) => saidOf(await client.messages.create(bodyOf(ask), { signal: ask.signal })),
      async streamChat(ask, onText) {
        const stream = client.messages.stream(bodyOf(ask), { signal: ask.signal });
        stream.on("text", (piece) => onText(piece));
        return saidOf(await stream.finalMessage());
      },
      ...chatAlone,
      failure(error) {
        if (!(error instanceof Anthropic.APIError)) throw error;
        const { error: said } = (error.error ?? {}) as { error?: { code: string; message: string } };
        return { status: error.status ?? null, code: said?.code ?? null, message: said?.message ?? error.message };
      },
    };
  },
};

function bodyOf({ model, text, maxTokens, withTool }: Ask) {
  const { name, description, parameters } = tool;
  const offered = { name, description, input_schema: { ...parameters, required: [...parameters.required] } };
  return {
    model,
    messages: [{ role: "user" as const, content: text }],
    max_tokens: maxTokens,
    ...(withTool === true ? { tools: [offered] } : {}),
  };
}

/** OpenAI's words for why an answer stopped. */
const finishes: Readonly<Record<string, string>> = { end_turn: "stop", tool_use: "tool_calls", max_tokens: "length" };

function saidOf({ content, stop_reason: reason, usage }: Anthropic.Message): Said {
  return {
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    finish: finishes[reason ?? "none"] ?? "none",
    usage: { prompt: usage.input_tokens, completion: usage.output_tokens },
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ name: block.name, arguments: JSON.stringify(block.input) }] : [],
    ),
  };
}
