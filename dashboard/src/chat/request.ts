import { attoToNanoUsdUp } from "@inference/protocol/money";
import type { Model } from "../gateway.ts";
import { attoOf } from "../models/cost.ts";
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

type Pricing = Readonly<Record<string, unknown>>;

function mostOf(pricing: Pricing, input: number, output: number): number | undefined {
  const extended = pricing.extended as (Pricing & { above_prompt_tokens: number }) | undefined;
  const isAbove = extended !== undefined && input > extended.above_prompt_tokens;
  const tiers = isAbove
    ? [atRates(pricing, extended.above_prompt_tokens, output), atRates(extended, input, output)]
    : [atRates(pricing, input, output)];
  const known = tiers.flatMap((atto) => atto ?? []);
  if (known.length < tiers.length) return undefined;
  return attoToNanoUsdUp(known.reduce((most, atto) => (atto > most ? atto : most), 0n));
}

function atRates(rates: Pricing, input: number, output: number): bigint | undefined {
  const [prompt, completion] = [attoOf(rates.prompt), attoOf(rates.completion)];
  if (prompt === undefined || completion === undefined) return undefined;
  const others = [attoOf(rates.input_cache_read), attoOf(rates.input_cache_write)].flatMap((price) => price ?? []);
  const dearest = others.reduce((most, price) => (price > most ? price : most), prompt);
  return BigInt(input) * dearest + BigInt(output) * completion;
}
