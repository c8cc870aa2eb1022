import { attoToNanoUsdUp } from "@inference/protocol/money";
import { tokenRates } from "@inference/sdk/verify/usage-cost";
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
  const each = models.map(({ pricing, context_length: context, max_tokens: most }) => {
    const input = context === null ? bound : hasImage ? context : Math.min(bound, context);
    return mostOf(pricing, input, most === null ? body.max_tokens : Math.min(body.max_tokens, most));
  });
  const known = each.flatMap((nanoUsd) => nanoUsd ?? []);
  return known.length === 0 || known.length < each.length ? undefined : Math.max(...known);
}

type Pricing = Model["pricing"];

function mostOf(pricing: Pricing, input: number, output: number): number | undefined {
  const { extended } = pricing as { extended?: { above_prompt_tokens: number } };
  const below = Math.min(input, extended?.above_prompt_tokens ?? input);
  const [one, other] = [atRates(pricing, below, output), atRates(pricing, input, output)];
  if (one === undefined || other === undefined) return undefined;
  return attoToNanoUsdUp(one > other ? one : other);
}

function atRates(pricing: Pricing, inputTokens: number, output: number): bigint | undefined {
  const rates = tokenRates(pricing, inputTokens);
  if (rates === undefined) return undefined;
  const dearest = [rates.input, rates.cached, rates.written].reduce((most, price) => (price > most ? price : most));
  return BigInt(inputTokens) * dearest + BigInt(output) * rates.output;
}
