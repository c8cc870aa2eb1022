import { attoToNanoUsdUp, parseDecimal } from "@inference/protocol/money";
import type { ListedReceipt } from "../spending.ts";

/** The cost of a receipt's usage at given prices, in nano-dollars. Undefined: the prices are not for tokens or time. */
export function costOf(receipt: ListedReceipt, pricing: Readonly<Record<string, unknown>>): number | undefined {
  const { tokens_prompt: prompt, tokens_completion: completion } = receipt;
  const { native_tokens_cached: cached, native_tokens_cache_write: written } = receipt;
  if ("audio_second" in pricing) return costOfAudio(receipt.audio_seconds ?? null, attoOf(pricing.audio_second));
  if (prompt === null || completion === null) return undefined;
  const rates = tokenRates(pricing, prompt);
  if (rates === undefined) return undefined;
  const [reads, writes] = [BigInt(cached ?? 0), BigInt(written ?? 0)];
  const plain = (BigInt(prompt) - reads - writes) * rates.input;
  return attoToNanoUsdUp(plain + reads * rates.cached + writes * rates.written + BigInt(completion) * rates.output);
}

/**
 * The maximum cost of tokens, in nano-dollars: all input at the highest of its prices. Undefined: the prices are not
 * for tokens.
 *
 * @param pricing As in `GET /api/v1/models`.
 */
export function quoteTokens(
  { prompt, completion }: { prompt: number; completion: number },
  pricing: Readonly<Record<string, unknown>>,
): number | undefined {
  const rates = tokenRates(pricing, prompt);
  if (rates === undefined) return undefined;
  const dearest = [rates.input, rates.cached, rates.written].reduce((most, price) => (price > most ? price : most));
  return attoToNanoUsdUp(BigInt(prompt) * dearest + BigInt(completion) * rates.output);
}

/** The prices of one token, in 1e-18 dollar. */
export type TokenRates = Record<"input" | "cached" | "written" | "output", bigint>;

/** The prices that apply to a request with so many input tokens. Undefined: the model has no prices of tokens. */
export function tokenRates(pricing: Readonly<Record<string, unknown>>, inputTokens: number): TokenRates | undefined {
  if ("character" in pricing || "image" in pricing || "audio_second" in pricing) return undefined;
  const { extended } = pricing as { extended?: Record<string, unknown> & { above_prompt_tokens: number } };
  const rates = extended !== undefined && inputTokens > extended.above_prompt_tokens ? extended : pricing;
  const [input, output] = [attoOf(rates.prompt), attoOf(rates.completion)];
  if (input === undefined || output === undefined) return undefined;
  const [cached = input, written = input] = [attoOf(rates.input_cache_read), attoOf(rates.input_cache_write)];
  return { input, cached, written, output };
}

function costOfAudio(seconds: number | null, price: bigint | undefined): number | undefined {
  if (seconds === null || price === undefined) return undefined;
  return attoToNanoUsdUp((BigInt(Math.round(seconds * 1000)) * price + 999n) / 1000n);
}

/** A listed decimal in 1e-18 dollar; undefined: there is no such price. */
export function attoOf(price: unknown): bigint | undefined {
  return typeof price === "string" ? parseDecimal(price, 18) : undefined;
}
