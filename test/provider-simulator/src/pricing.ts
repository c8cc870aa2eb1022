import { attoFromPrice } from "./decimal.ts";

/**
 * A price list of the catalogue, with every amount as the exact text of a decimal. On the wire each amount becomes
 * `{usd, diem}`. Other numbers (thresholds, counts) stay numbers.
 */
export type PriceSpec = { readonly [key: string]: string | number | PriceSpec };

export interface Rate {
  readonly price: string;
  readonly atto: bigint;
}

export interface TokenRates {
  readonly input: Rate;
  readonly output: Rate;
  readonly cacheInput: Rate | null;
  readonly cacheWrite: Rate | null;
}

export interface TextRates {
  readonly base: TokenRates;
  readonly extended: { readonly threshold: number; readonly rates: TokenRates } | null;
}

export interface Usage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}

/** One row of a bill: `units` at `price` dollars for every `per` units, exactly `atto`. */
export interface ChargeLine {
  readonly sku: string;
  readonly units: number;
  readonly per: number;
  readonly price: string;
  readonly atto: bigint;
}

const MILLION = 1_000_000;

export function rate(price: string): Rate {
  return { price, atto: attoFromPrice(price) };
}

export function chargeLine(sku: string, units: number, per: number, by: Rate): ChargeLine {
  // A price has ten places, so a millionth of it is still a whole number of atto-USD: nothing is rounded here.
  return { sku, units, per, price: by.price, atto: (BigInt(units) * by.atto) / BigInt(per) };
}

export function total(lines: readonly ChargeLine[]): bigint {
  let sum = 0n;
  for (const line of lines) sum += line.atto;
  return sum;
}

function amount(spec: PriceSpec, key: string): string | null {
  const value = spec[key];
  return typeof value === "string" ? value : null;
}

function table(spec: PriceSpec | undefined, key: string): PriceSpec | null {
  const value = spec?.[key];
  return typeof value === "object" ? value : null;
}

function tokenRates(spec: PriceSpec): TokenRates {
  const cacheInput = amount(spec, "cache_input");
  const cacheWrite = amount(spec, "cache_write");
  return {
    input: rate(amount(spec, "input") ?? "0"),
    output: rate(amount(spec, "output") ?? "0"),
    cacheInput: cacheInput === null ? null : rate(cacheInput),
    cacheWrite: cacheWrite === null ? null : rate(cacheWrite),
  };
}

export function textRates(spec: PriceSpec): TextRates {
  const extended = table(spec, "extended");
  const threshold = extended?.context_token_threshold;
  return {
    base: tokenRates(spec),
    extended: extended === null || typeof threshold !== "number" ? null : { threshold, rates: tokenRates(extended) },
  };
}

/** Cached and cache-written tokens are part of the prompt; past the threshold the extended rates price everything. */
export function textLines(model: string, rates: TextRates, usage: Usage): ChargeLine[] {
  // The provider bills nothing for an answer without output.
  if (usage.completionTokens === 0) return [];
  const long = rates.extended !== null && usage.promptTokens > rates.extended.threshold;
  const by = long && rates.extended !== null ? rates.extended.rates : rates.base;
  const fresh = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens;
  const lines = [chargeLine(`${model}-llm-input-mtoken`, fresh, MILLION, by.input)];
  if (usage.cachedTokens > 0) {
    lines.push(chargeLine(`${model}-llm-cache-input-mtoken`, usage.cachedTokens, MILLION, by.cacheInput ?? by.input));
  }
  if (usage.cacheWriteTokens > 0) {
    lines.push(
      chargeLine(`${model}-llm-cache-write-mtoken`, usage.cacheWriteTokens, MILLION, by.cacheWrite ?? by.input),
    );
  }
  lines.push(chargeLine(`${model}-llm-output-mtoken`, usage.completionTokens, MILLION, by.output));
  return lines;
}

export function inputLines(sku: string, spec: PriceSpec, units: number): ChargeLine[] {
  return units === 0 ? [] : [chargeLine(sku, units, MILLION, rate(amount(spec, "input") ?? "0"))];
}

/** A quality table wins over the resolution table, which stands in place of the flat price. */
export function imageRate(spec: PriceSpec, resolution: string | null, quality: string | null): Rate | null {
  const byQuality = resolution === null ? null : table(table(spec, "quality") ?? undefined, resolution);
  const qualityPrice = byQuality === null || quality === null ? null : amount(byQuality, quality);
  if (qualityPrice !== null) return rate(qualityPrice);
  const byResolution = table(spec, "resolutions");
  const price =
    byResolution === null || resolution === null ? amount(spec, "generation") : amount(byResolution, resolution);
  return price === null ? null : rate(price);
}

/** The wire shape: every amount becomes `{usd, diem}`, both the same number. */
export function priceToWire(spec: PriceSpec): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(spec)) {
    if (typeof value === "string") wire[key] = { usd: Number(value), diem: Number(value) };
    else wire[key] = typeof value === "number" ? value : priceToWire(value);
  }
  return wire;
}

/** Reads the flat prices of a wire shape back: `{input: {usd}, output: {usd}}`. */
export function priceFromWire(wire: unknown): PriceSpec {
  return Object.fromEntries(
    Object.entries(wire as Record<string, { usd?: unknown }>).map(([key, { usd }]) => {
      attoFromPrice(String(usd));
      return [key, String(usd)];
    }),
  );
}
