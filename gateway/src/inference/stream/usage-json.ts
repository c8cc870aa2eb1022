import { formatUsd } from "@inference/protocol/money";
import { type Delivered, deliveredTokens, isNothingDelivered, type Quote } from "../../pricing/quote.ts";
import { noTokens, type ReportedUsage, type TokenUsage } from "../../pricing/usage.ts";
import type { Charged } from "./answer-writer.ts";

/** The `usage` that a client sees, as JSON text: the standard counts or the duration, and the charge. */
export function usageJson(charged: Charged): string {
  const { promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, audioMs } = charged.usage;
  // OpenAI's form for audio.
  if (audioMs !== undefined) return withCost(JSON.stringify({ type: "duration", seconds: audioMs / 1000 }), charged);
  const counts = JSON.stringify({
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  });
  return withCost(counts, charged);
}

/**
 * Adds the charge, and its signed receipt, to the JSON text of an object. `cost` is a JSON number in dollars, printed
 * exactly from the integer, which `JSON.stringify` could not do.
 */
export function withCost(counts: string, { costNanoUsd, isEstimated, receipt }: Omit<Charged, "usage">): string {
  const mark = isEstimated ? ',"estimated":true' : "";
  const signed = receipt === undefined ? "" : `,"receipt":"${receipt}"`;
  return `${counts.slice(0, -1)},"cost":${formatUsd(costNanoUsd)},"cost_nano_usd":${costNanoUsd}${mark}${signed}}`;
}

/** Adds a usage to the JSON text of an object, as the last member. */
export function textWithUsage(object: string, usage: string): string {
  return `${object.slice(0, -1)}${object === "{}" ? "" : ","}"usage":${usage}}`;
}

/** The usage event that a client sees: OpenAI's fields and our usage, without the provider's own fields. */
export function usageEventJson(head: Record<string, unknown>, charged: Charged, upstreamId: string | null): string {
  const { id, created, model } = head;
  const event = {
    id: typeof id === "string" ? id : (upstreamId ?? ""),
    object: "chat.completion.chunk",
    created: typeof created === "number" ? created : 0,
    model: typeof model === "string" ? model : "",
    choices: [],
  };
  return textWithUsage(JSON.stringify(event), usageJson(charged));
}

/** The usage and the cost to show. If the provider reported no usage, those that are charged. */
export function chargedFor(
  quote: Quote,
  { usage, delivered }: { usage: ReportedUsage["usage"]; delivered: Delivered },
): Charged {
  if (typeof usage === "object") {
    return { usage, costNanoUsd: Math.min(quote.maxNanoUsd, quote.chargeForUsage(usage)), isEstimated: false };
  }
  const isNothing = isNothingDelivered(delivered);
  const estimate: TokenUsage = {
    ...noTokens,
    promptTokens: isNothing ? 0 : (quote.bound?.promptTokens ?? 0),
    completionTokens: Math.min(deliveredTokens(delivered), quote.bound?.completionTokens ?? 0),
    ...(quote.bound?.audioMs === undefined ? {} : { audioMs: quote.bound.audioMs }),
  };
  return { usage: estimate, costNanoUsd: quote.chargeForDelivered(delivered), isEstimated: true };
}
