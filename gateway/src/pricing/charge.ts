import type {
  AttoUsd,
  EmbeddingPrice,
  ImageTable,
  SpeechPrice,
  TextPrice,
  TokenRates,
  TranscriptionPrice,
} from "@inference/protocol/model";
import { attoToNanoUsdUp, MAX_NANO_USD, type NanoUsd, nanoUsdToAtto } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import type { TokenUsage } from "./usage.ts";

/**
 * The exact cost of a usage in atto-dollars. Tokens read from and written to the provider's cache are inside the
 * prompt tokens; reasoning tokens are inside the completion tokens. Above the extended threshold all tokens have the
 * extended rates.
 */
export function chargeAtto(price: TextPrice | EmbeddingPrice, usage: TokenUsage): AttoUsd {
  if (price.kind === "embedding") return BigInt(usage.promptTokens) * price.input;
  const rates = ratesAt(price, usage.promptTokens);
  const plainTokens = usage.promptTokens - usage.cacheReadTokens - usage.cacheWriteTokens;
  return (
    BigInt(plainTokens) * rates.input +
    BigInt(usage.cacheReadTokens) * (rates.cacheRead ?? rates.input) +
    BigInt(usage.cacheWriteTokens) * (rates.cacheWrite ?? rates.input) +
    BigInt(usage.completionTokens) * rates.output
  );
}

/** The rates of a request with so many prompt tokens: extended above the threshold, not at it. */
function ratesAt(price: TextPrice, promptTokens: number): TokenRates {
  const { extended } = price;
  return extended !== undefined && promptTokens > extended.thresholdTokens ? extended.rates : price.rates;
}

/** Undefined if the catalogue has no price for this pair: what needs it is refused. */
export function imageAtto(price: ImageTable, resolution: string, quality: string | undefined): AttoUsd | undefined {
  const byQuality = quality === undefined ? undefined : ownValue(ownValue(price.byQuality, resolution), quality);
  return byQuality ?? ownValue(price.byResolution, resolution);
}

export function speechAtto(price: SpeechPrice, characters: number): AttoUsd {
  return BigInt(characters) * price.character;
}

/** The cost of audio. A thousandth of an atto-dollar is rounded up. */
export function audioAtto(price: TranscriptionPrice, audioMs: number): AttoUsd {
  return (BigInt(audioMs) * price.second + 999n) / 1000n;
}

/** The cost of a usage: `chargeAtto`, rounded up once. */
export function chargeForUsage(price: TextPrice | EmbeddingPrice, usage: TokenUsage): NanoUsd {
  return chargeToNanoUsdUp(chargeAtto(price, usage));
}

const MAX_ATTO = nanoUsdToAtto(MAX_NANO_USD);

/** The one rounding of a charge: up, to the nano-dollar. A charge beyond the largest amount is the largest amount. */
export function chargeToNanoUsdUp(atto: AttoUsd): NanoUsd {
  return attoToNanoUsdUp(atto > MAX_ATTO ? MAX_ATTO : atto);
}
