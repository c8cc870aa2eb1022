import type { NanoUsd } from "@inference/protocol/money";
import type { TokenUsage } from "../../pricing/quote.ts";
import { jsonWithUsage, usageJson } from "./usage-json.ts";

/**
 * The provider's usage event as a client gets to see it: OpenAI's fields, our usage, and nothing of the provider's own.
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
  return jsonWithUsage(event, usageJson(shown.usage, shown.costNanoUsd));
}
