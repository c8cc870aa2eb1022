import { quoteTokens } from "@inference/sdk/verify/usage-cost";
import type { Model } from "../gateway.ts";
import type { ChatSettings, Message } from "./chats.ts";

type WireMessage = { role: string; content: unknown };
export type ChatBody = {
  model: string;
  messages: WireMessage[];
  max_tokens: number;
  temperature?: number;
  stream: true;
  stream_options: { include_usage: true };
};

/** The body of the request that the page sends. */
export function bodyOf(settings: ChatSettings, messages: readonly Message[]): ChatBody {
  const { model, system, temperature, maxTokens } = settings;
  return {
    model,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
      // An answer without text, such as a stopped one, cannot be sent.
      ...messages.filter(({ role, text }) => role === "user" || text !== "").map(wireOf),
    ],
    max_tokens: maxTokens,
    ...(temperature === "" ? {} : { temperature: Number(temperature) }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function wireOf(message: Message): WireMessage {
  if (message.role === "assistant" || message.images.length === 0) return { role: message.role, content: message.text };
  const images = message.images.map((url) => ({ type: "image_url", image_url: { url } }));
  const text = message.text.trim() === "" ? [] : [{ type: "text", text: message.text }];
  return { role: "user", content: [...text, ...images] };
}

/**
 * Tokens that a gateway may count beyond the bytes of the body: 32 for each message, 256 for the request
 * (docs/metering.md), and 1,024 bytes for the fields that the gateway adds to the body.
 */
const PER_MESSAGE = 32;
const PER_REQUEST = 256 + 1_024;

/**
 * The most that the gateway reserves for the request, in nano-dollars. The input is bounded by the body's bytes, and
 * with an image by the whole context. Undefined: a price is missing.
 *
 * @param models The model, and those that may serve in its place.
 */
export function mostReserved(body: ChatBody, models: readonly Model[]): number | undefined {
  const hasImage = body.messages.some(({ content }) => Array.isArray(content));
  const bytes = hasImage ? 0 : new TextEncoder().encode(JSON.stringify(body)).length;
  const bound = bytes + PER_MESSAGE * body.messages.length + PER_REQUEST;
  const costs = models.flatMap(({ pricing, context_length: context, max_tokens: most }) => {
    const input = context === null ? bound : hasImage ? context : Math.min(bound, context);
    const completion = Math.min(body.max_tokens, most ?? Number.POSITIVE_INFINITY);
    // The prices up to a threshold may be the higher ones.
    const { extended } = pricing as { extended?: { above_prompt_tokens: number } };
    const below = Math.min(input, extended?.above_prompt_tokens ?? input);
    return [below, input].map((prompt) => quoteTokens({ prompt, completion }, pricing));
  });
  const known = costs.flatMap((nanoUsd) => nanoUsd ?? []);
  return known.length === 0 || known.length < costs.length ? undefined : Math.max(...known);
}
