import type { AttoUsd, Price, TokenRates } from "@inference/protocol/model";
import { formatDecimal } from "@inference/protocol/money";

/**
 * Prices as GET /models lists them: exact decimal strings in dollars per unit. `prompt` and `completion` are per token,
 * and "0" where something else is charged: `character`, `audio_second`, or `image`, which is one price or a table by
 * resolution.
 */
export type PricingObject = Rates & {
  /** The rates of a request with more prompt tokens than this. */
  extended?: Rates & { above_prompt_tokens: number };
  character?: string;
  audio_second?: string;
  image?: string | Record<string, string>;
  image_by_quality?: Record<string, Record<string, string>>;
};
type Rates = { prompt: string; completion: string; input_cache_read?: string; input_cache_write?: string };

export function pricingOf(price: Price): PricingObject {
  switch (price.kind) {
    case "text":
      return {
        ...rates(price.rates),
        ...(price.extended === undefined
          ? {}
          : { extended: { above_prompt_tokens: price.extended.thresholdTokens, ...rates(price.extended.rates) } }),
      };
    case "embedding":
      return { prompt: usd(price.input), completion: "0" };
    case "speech":
      return { prompt: "0", completion: "0", character: usd(price.character) };
    case "transcription":
      return { prompt: "0", completion: "0", audio_second: usd(price.second) };
    case "image":
    case "edit":
    case "upscale": {
      const flat = price.byResolution["*"];
      return {
        prompt: "0",
        completion: "0",
        image: flat === undefined ? table(price.byResolution) : usd(flat),
        ...(price.byQuality === undefined ? {} : { image_by_quality: mapValues(price.byQuality, table) }),
      };
    }
  }
}

export function mapValues<V, W>(record: Record<string, V>, map: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function rates({ input, output, cacheRead, cacheWrite }: TokenRates): Rates {
  return {
    prompt: usd(input),
    completion: usd(output),
    ...(cacheRead === undefined ? {} : { input_cache_read: usd(cacheRead) }),
    ...(cacheWrite === undefined ? {} : { input_cache_write: usd(cacheWrite) }),
  };
}

function table(prices: Record<string, AttoUsd>): Record<string, string> {
  return mapValues(prices, usd);
}

function usd(atto: AttoUsd): string {
  return formatDecimal(atto, 18);
}
