import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  type EmbeddingModel,
  embedMany,
  generateImage,
  generateSpeech,
  generateText,
  type ImageModel,
  jsonSchema,
  type LanguageModel,
  RetryError,
  type SpeechModel,
  streamText,
} from "ai";
import { type Ask, type Calls, type Client, type Connection, cannotDo, tool, voice } from "./client.ts";

const noModels = "The AI SDK has no call for the list of models.";
const noSpeech = "`@ai-sdk/openai-compatible` makes no speech models.";

export const aiSdkOpenai: Client = {
  name: "@ai-sdk/openai",
  cannot: { "models: list": noModels, "models: one": noModels },
  async open(connection) {
    const { baseUrl, apiKey, wire } = connection;
    const provider = createOpenAI({ baseURL: baseUrl, apiKey, fetch: wire.fetch });
    return callsOf(connection, {
      chat: (id) => provider.chat(id),
      embedding: (id) => provider.embedding(id),
      image: (id) => provider.image(id),
      speech: (id) => provider.speech(id),
    });
  },
};

export const aiSdkCompatible: Client = {
  name: "@ai-sdk/openai-compatible",
  cannot: { "models: list": noModels, "models: one": noModels, "speech: whole": noSpeech, "speech: error": noSpeech },
  async open(connection) {
    const { baseUrl, apiKey, wire } = connection;
    const provider = createOpenAICompatible({
      name: "gateway",
      baseURL: baseUrl,
      apiKey,
      fetch: wire.fetch,
      includeUsage: true,
    });
    return callsOf(connection, {
      chat: (id) => provider.chatModel(id),
      embedding: (id) => provider.embeddingModel(id),
      image: (id) => provider.imageModel(id),
      speech: cannotDo,
    });
  },
};

export const aiSdkResponses: Client = {
  name: "@ai-sdk/openai, through Responses",
  cannot: {},
  waitsInside: true,
  async open(connection) {
    const { baseUrl, apiKey, wire } = connection;
    const provider = createOpenAI({ baseURL: baseUrl, apiKey, fetch: wire.fetch });
    return callsOf(connection, { ...noOthers, chat: (id) => provider(id) });
  },
};

export const aiSdkAnthropic: Client = {
  name: "@ai-sdk/anthropic",
  cannot: {},
  async open(connection) {
    const { baseUrl, apiKey, wire } = connection;
    const provider = createAnthropic({ baseURL: baseUrl, apiKey, fetch: wire.fetch });
    return callsOf(connection, { ...noOthers, chat: (id) => provider(id) });
  },
};

const noOthers = { embedding: cannotDo, image: cannotDo, speech: cannotDo };

type Models = {
  chat(id: string): LanguageModel;
  embedding(id: string): EmbeddingModel;
  image(id: string): ImageModel;
  speech(id: string): SpeechModel;
};

function callsOf({ retries: maxRetries }: Connection, models: Models): Calls {
  const textOptions = ({ model, text, maxTokens, withTool, signal }: Ask) => ({
    model: models.chat(model),
    prompt: text,
    maxOutputTokens: maxTokens,
    maxRetries,
    ...(signal === undefined ? {} : { abortSignal: signal }),
    ...(withTool === true ? { tools: { [tool.name]: offered } } : {}),
  });
  return {
    async chat(ask) {
      const { text, finishReason, usage, toolCalls } = await generateText(textOptions(ask));
      return { text, finish: finishOf(finishReason), usage: usageOf(usage), calls: toolCalls.map(callOf) };
    },
    async streamChat(ask, onText) {
      // The SDK prints errors without a listener. The stream has them too.
      const answer = streamText({ ...textOptions(ask), onError: () => {} });
      for await (const part of answer.fullStream) {
        if (part.type === "text-delta") onText(part.text);
        if (part.type === "error") throw part.error;
        if (part.type === "abort") throw new DOMException("aborted", "AbortError");
      }
      const [text, finish, usage, calls] = await Promise.all([
        answer.text,
        answer.finishReason,
        answer.usage,
        answer.toolCalls,
      ]);
      return { text, finish: finishOf(finish), usage: usageOf(usage), calls: calls.map(callOf) };
    },
    async embed({ model, texts }) {
      const { embeddings, usage } = await embedMany({ model: models.embedding(model), values: texts, maxRetries });
      return { vectors: embeddings, tokens: usage.tokens };
    },
    async image({ model, prompt }) {
      return (await generateImage({ model: models.image(model), prompt, maxRetries })).image.uint8Array;
    },
    async speak({ model, text }) {
      return (await generateSpeech({ model: models.speech(model), text, voice, maxRetries })).audio.uint8Array;
    },
    models: cannotDo,
    findModel: cannotDo,
    failure(error) {
      const last = RetryError.isInstance(error) ? error.lastError : error;
      const shown = last as { statusCode?: number; message: string; responseBody?: string; code?: string };
      const body =
        APICallError.isInstance(last) && shown.responseBody ? JSON.parse(shown.responseBody) : { error: shown };
      return { status: shown.statusCode ?? null, code: body.error.code ?? null, message: shown.message };
    },
  };
}

const offered = {
  description: tool.description,
  inputSchema: jsonSchema<{ text: string }>({ ...tool.parameters, required: [...tool.parameters.required] }),
};

function finishOf(reason: string): string {
  return reason.replace("-", "_");
}

function usageOf({
  inputTokens,
  outputTokens,
}: {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
}) {
  return inputTokens === undefined || outputTokens === undefined
    ? null
    : { prompt: inputTokens, completion: outputTokens };
}

function callOf({ toolName, input }: { toolName: string; input: unknown }) {
  return { name: toolName, arguments: JSON.stringify(input) };
}
