import type { AttoUsd, TextPrice, TokenRates } from "@inference/protocol/model";

/** The most tokens, or the audio, that a request can be billed for. */
export type TokenBound = {
  promptTokens: number;
  completionTokens: number;
  /** The length of the audio to transcribe, in milliseconds. Its answer reports a duration in place of tokens. */
  audioMs?: number;
};

const TOKENS_PER_MESSAGE = 32;
const TOKENS_PER_REQUEST = 256;

/**
 * The most prompt tokens that a request can have. A byte-level tokenizer never makes more tokens than there are bytes,
 * and the body that is sent holds everything the provider turns into a prompt; what its chat template adds is covered
 * by the two constants. Bytes count far more than tokens, so a bound above the model's context is no proof that the
 * prompt is too long: it is cut to the context, above which no prompt can be billed.
 */
export function promptBound(request: { bodyBytes: number; messages: number; contextTokens: number | null }): number {
  const bytes = request.bodyBytes + TOKENS_PER_MESSAGE * request.messages + TOKENS_PER_REQUEST;
  return request.contextTokens === null ? bytes : Math.min(bytes, request.contextTokens);
}

/**
 * The prices a request within a prompt bound can meet: a prompt cost and a price per completion token for each set of
 * rates that is in reach. The highest of these prices is the request's maximum.
 */
type Tier = { promptAtto: AttoUsd; outputAtto: AttoUsd };

export function reachableTiers(price: TextPrice, promptTokens: number): Tier[] {
  const { rates, extended } = price;
  if (extended === undefined || promptTokens <= extended.thresholdTokens) return [tier(rates, promptTokens)];
  return [tier(rates, extended.thresholdTokens), tier(extended.rates, promptTokens)];
}

export function tiersMaxAtto(tiers: readonly Tier[], completionTokens: number): AttoUsd {
  return dearest(tiers.map(({ promptAtto, outputAtto }) => promptAtto + BigInt(completionTokens) * outputAtto));
}

/**
 * The most completion tokens for which every tier stays within an amount; null if output costs nothing; undefined if
 * the prompt alone does not fit.
 */
export function tiersAffordableTokens(tiers: readonly Tier[], availableAtto: AttoUsd): bigint | null | undefined {
  let least: bigint | null = null;
  for (const { promptAtto, outputAtto } of tiers) {
    if (promptAtto > availableAtto) return undefined;
    if (outputAtto === 0n) continue;
    const tokens = (availableAtto - promptAtto) / outputAtto;
    if (least === null || tokens < least) least = tokens;
  }
  return least;
}

function tier(rates: TokenRates, promptTokens: number): Tier {
  // Whether a prompt is read from the provider's cache or written to it is not ours to decide.
  const input = dearest([rates.input, rates.cacheRead, rates.cacheWrite]);
  return { promptAtto: BigInt(promptTokens) * input, outputAtto: rates.output };
}

/**
 * The most tokens of an embedding's inputs, by their bytes: each input has the model's context, and markers of its own.
 */
export function embeddingBound(inputBytes: readonly number[], contextTokens: number | null): number {
  let tokens = 0;
  for (const bytes of inputBytes)
    tokens += Math.min(bytes + TOKENS_PER_MESSAGE, contextTokens ?? Number.POSITIVE_INFINITY);
  return tokens;
}

/** The highest of several possible prices; 0 if there is none. */
export function dearest(prices: readonly (AttoUsd | undefined)[]): AttoUsd {
  let most = 0n;
  for (const price of prices) if (price !== undefined && price > most) most = price;
  return most;
}
