import { formatUsd, type NanoUsd } from "@inference/protocol/money";
import type { TokenUsage } from "../../pricing/quote.ts";

/**
 * The `usage` that a client sees, as JSON text: the standard counts, and the charge. `cost` is a JSON number in
 * dollars, printed exactly from the integer, which `JSON.stringify` could not do.
 */
export function usageJson(usage: TokenUsage, costNanoUsd: NanoUsd): string {
  const { promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  const counts = JSON.stringify({
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  });
  return `${counts.slice(0, -1)},"cost":${formatUsd(costNanoUsd)},"cost_nano_usd":${costNanoUsd}}`;
}

/** Adds a usage to the JSON text of an object, as the last member. */
export function textWithUsage(object: string, usage: string): string {
  return `${object.slice(0, -1)}${object === "{}" ? "" : ","}"usage":${usage}}`;
}

/**
 * The usage event that a client sees: OpenAI's fields and our usage, without the provider's own fields.
 */
export function usageEventJson(
  chunk: Record<string, unknown>,
  shown: { usage: TokenUsage; costNanoUsd: NanoUsd; upstreamId: string | null },
): string {
  const { id, created, model } = chunk;
  const event = {
    id: typeof id === "string" ? id : (shown.upstreamId ?? ""),
    object: "chat.completion.chunk",
    created: typeof created === "number" ? created : 0,
    model: typeof model === "string" ? model : "",
    choices: [],
  };
  return textWithUsage(JSON.stringify(event), usageJson(shown.usage, shown.costNanoUsd));
}
