import { streamChat } from "@inference/sdk/chat-stream";
import { request } from "@inference/sdk/request";
import type { Receipt } from "@inference/sdk/spending";
import { gateway } from "../gateway.ts";
import type { Usage } from "./chats.ts";
import type { ChatBody } from "./request.ts";

/** A part of an answer. The first has the receipt's id. */
type Part = {
  receipt?: string;
  text?: string;
  reasoning?: string;
  finish?: string;
  usage?: Usage;
};

/** Asks, and yields the parts of the answer as they come. Throws as `streamChat` of the library does. */
export async function* partsOf(body: ChatBody, key: string, signal: AbortSignal): AsyncGenerator<Part> {
  for await (const chunk of streamChat(gateway, { apiKey: key, body, signal })) {
    if ("receipt" in chunk) {
      yield chunk;
      continue;
    }
    const { usage } = chunk;
    const [{ delta = {}, finish_reason: finish } = {}] = chunk.choices ?? [];
    const part: Part = {};
    if (delta.content) part.text = delta.content;
    if (delta.reasoning_content) part.reasoning = delta.reasoning_content;
    if (finish) part.finish = finish;
    if (usage) {
      part.usage = { input: usage.prompt_tokens, output: usage.completion_tokens, nanoUsd: usage.cost_nano_usd };
    }
    yield part;
  }
}

/** The usage by the receipt of an answer that did not say it. A request has a receipt as soon as it has ended. */
export async function usageByReceipt(id: string, key: string): Promise<Usage> {
  const asked = { bearer: key, query: { id } };
  const { data } = await request<{ data: Receipt }>(gateway, "/api/v1/generation", asked);
  return { input: data.tokens_prompt ?? 0, output: data.tokens_completion ?? 0, nanoUsd: data.charge_nano_usd };
}
