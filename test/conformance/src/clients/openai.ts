import OpenAI from "openai";
import { type Ask, type Client, tool, voice } from "./client.ts";

export const openai: Client = {
  name: "openai",
  cannot: {},
  async open({ baseUrl, apiKey, wire, retries }) {
    const client = new OpenAI({ baseURL: baseUrl, apiKey, fetch: wire.fetch, maxRetries: retries });
    return {
      async chat(ask) {
        const { choices, usage } = await client.chat.completions.create(bodyOf(ask), { signal: ask.signal });
        const [choice] = choices;
        return {
          text: choice?.message.content ?? "",
          finish: choice?.finish_reason ?? "none",
          usage: usage === undefined ? null : { prompt: usage.prompt_tokens, completion: usage.completion_tokens },
          calls: (choice?.message.tool_calls ?? []).flatMap((call) =>
            call.type === "function" ? [call.function] : [],
          ),
        };
      },
      async streamChat(ask, onText) {
        const options = { stream_options: { include_usage: true } };
        const stream = client.chat.completions.stream({ ...bodyOf(ask), ...options }, { signal: ask.signal });
        stream.on("content", onText);
        const { choices, usage } = await stream.finalChatCompletion();
        const [choice] = choices;
        return {
          text: choice?.message.content ?? "",
          finish: choice?.finish_reason ?? "none",
          usage: usage === undefined ? null : { prompt: usage.prompt_tokens, completion: usage.completion_tokens },
          calls: (choice?.message.tool_calls ?? []).flatMap((call) =>
            call.type === "function" ? [call.function] : [],
          ),
        };
      },
      async embed({ model, texts }) {
        const { data, usage } = await client.embeddings.create({ model, input: texts });
        return { vectors: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens };
      },
      async image(ask) {
        const { data } = await client.images.generate(ask);
        return Buffer.from(data?.[0]?.b64_json ?? "", "base64");
      },
      async speak({ model, text }) {
        const answer = await client.audio.speech.create({ model, input: text, voice });
        return new Uint8Array(await answer.arrayBuffer());
      },
      async models() {
        const ids: string[] = [];
        for await (const { id } of client.models.list()) ids.push(id);
        return ids;
      },
      findModel: async (id) => (await client.models.retrieve(id)).id,
      failure(error) {
        if (!(error instanceof OpenAI.APIError)) throw error;
        return { status: error.status ?? null, code: error.code ?? null, message: error.message };
      },
    };
  },
};

function bodyOf({ model, text, maxTokens, withTool }: Ask) {
  return {
    model,
    messages: [{ role: "user" as const, content: text }],
    max_tokens: maxTokens,
    ...(withTool === true
      ? { tools: [{ type: "function" as const, function: { ...tool, parameters: { ...tool.parameters } } }] }
      : {}),
  };
}
