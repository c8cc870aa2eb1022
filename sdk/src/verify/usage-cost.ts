import { attoToNanoUsdUp, parseDecimal } from "@inference/protocol/money";
import type { ListedReceipt } from "../spending.ts";

/** The least and the most that the usage of a receipt costs at given prices. */
export type CostRange = { leastNanoUsd: number; mostNanoUsd: number };

/**
 * The same for most prices. Where writing to the provider's cache has a price of its own the two differ, because a
 * receipt does not say how many tokens were written. Undefined if these prices are of no tokens.
 */
export function costOf(receipt: ListedReceipt, pricing: Readonly<Record<string, unknown>>): CostRange | undefined {
  const { tokens_prompt: prompt, tokens_completion: completion, native_tokens_cached: cached } = receipt;
  if (prompt === null || completion === null || "character" in pricing || "image" in pricing) return undefined;
  const { extended } = pricing as { extended?: Record<string, unknown> & { above_prompt_tokens: number } };
  const rates = extended !== undefined && prompt > extended.above_prompt_tokens ? extended : pricing;
  const input = attoOf(rates.prompt);
  const output = attoOf(rates.completion);
  if (input === undefined || output === undefined) return undefined;
  const read = attoOf(rates.input_cache_read) ?? input;
  const written = attoOf(rates.input_cache_write) ?? input;
  const plain = BigInt(prompt - (cached ?? 0));
  const fixed = BigInt(cached ?? 0) * read + BigInt(completion) * output;
  const [one, other] = [fixed + plain * input, fixed + plain * written];
  const [least, most] = one < other ? [one, other] : [other, one];
  return { leastNanoUsd: attoToNanoUsdUp(least), mostNanoUsd: attoToNanoUsdUp(most) };
}

function attoOf(price: unknown): bigint | undefined {
  return typeof price === "string" ? parseDecimal(price, 18) : undefined;
}
