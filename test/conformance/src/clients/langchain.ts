import type { AIMessage, AIMessageChunk, UsageMetadata } from "@langchain/core/messages";
import OpenAI from "openai";
import { type Ask, type Client, cannotDo, type Said, tool } from "./client.ts";

const noModels = "LangChain has no call for the list of models.";
const noSpeech = "LangChain has no call for speech.";

export const langchain: Client = {
  name: "LangChain",
  cannot: {
    "models: list": noModels,
    "models: one": noModels,
    "speech: whole": noSpeech,
    "speech: error": noSpeech,
    "embeddings: usage": "Its embeddings are the vectors alone.",
  },
  async open({ baseUrl, apiKey, wire, retries }) {
    // Loading them takes a second.
    const { HumanMessage } = await import("@langchain/core/messages");
    const { ChatOpenAI, DallEAPIWrapper, OpenAIEmbeddings } = await import("@langchain/openai");
    const configuration = { baseURL: baseUrl, fetch: wire.fetch };
    const options = { apiKey, configuration, maxRetries: retries };
    const modelFor = ({ model, maxTokens, withTool }: Ask) => {
      const chat = new ChatOpenAI({ ...options, model, maxTokens, streamUsage: true });
      return withTool === true ? chat.bindTools([{ type: "function", function: tool }]) : chat;
    };
    const messages = ({ text }: Ask) => [new HumanMessage(text)];
    const signalOf = ({ signal }: Ask) => (signal === undefined ? {} : { signal });
    return {
      chat: async (ask) => saidOf(await modelFor(ask).invoke(messages(ask), signalOf(ask))),
      async streamChat(ask, onText) {
        let all: AIMessageChunk | undefined;
        for await (const chunk of await modelFor(ask).stream(messages(ask), signalOf(ask))) {
          if (chunk.text !== "") onText(chunk.text);
          all = all === undefined ? chunk : all.concat(chunk);
        }
        // Its streams end without a word when their signal ends them.
        ask.signal?.throwIfAborted();
        if (all === undefined) throw new Error("an empty stream");
        return saidOf(all);
      },
      async embed({ model, texts }) {
        const vectors = await new OpenAIEmbeddings({ ...options, model }).embedDocuments(texts);
        return { vectors, tokens: Number.NaN };
      },
      async image({ model, prompt }) {
        const painter = new DallEAPIWrapper({ apiKey, model, dallEResponseFormat: "b64_json" });
        // Its constructor has no place for a `fetch`.
        const client = new OpenAI({ apiKey, baseURL: baseUrl, fetch: wire.fetch, maxRetries: retries });
        Object.assign(painter, { client });
        return Buffer.from(await painter.invoke(prompt), "base64");
      },
      speak: cannotDo,
      models: cannotDo,
      findModel: cannotDo,
      failure(error) {
        const { status, code, message } = error as { status?: number; code?: string; message: string };
        return { status: status ?? null, code: code ?? null, message };
      },
    };
  },
};

function saidOf(message: AIMessage | AIMessageChunk): Said {
  const { tool_calls: calls = [], response_metadata: metadata } = message;
  const usage = message.usage_metadata as UsageMetadata | undefined;
  return {
    text: message.text,
    finish: String(metadata.finish_reason),
    usage: usage === undefined ? null : { prompt: usage.input_tokens, completion: usage.output_tokens },
    calls: calls.map(({ name, args }) => ({ name, arguments: JSON.stringify(args) })),
  };
}
