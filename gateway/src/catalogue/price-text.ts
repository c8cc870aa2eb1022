import { createHash } from "node:crypto";
import type { Model, Price, TokenRates } from "@inference/protocol/model";
import { parseDecimal } from "@inference/protocol/money";
import { CatalogueError } from "./catalogue-error.ts";
import { mapValues, pricingOf } from "./pricing-object.ts";

/**
 * The prices of a snapshot as they are published: `{"data":[{"id","type","pricing"}]}` with `pricing` as in GET /models,
 * sorted by id, without spaces. The same prices have the same text.
 */
export function priceText(models: Iterable<Model>): string {
  const data = [...models].map(({ id, price }) => ({ id, type: price.kind, pricing: pricingOf(price) }));
  return JSON.stringify({ data: data.sort((a, b) => (a.id < b.id ? -1 : 1)) }, sorted);
}

/** The id of the snapshot whose prices have this text: the first half of its SHA-256, in hex. */
export function snapshotId(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** The prices of a text by model. Throws `CatalogueError` if it is none of `priceText`. */
export function readPriceText(text: string): ReadonlyMap<string, Price> {
  try {
    const { data } = JSON.parse(text) as { data: { id: string; type: Price["kind"]; pricing: Pricing }[] };
    return new Map(data.map(({ id, type, pricing }) => [id, readPricing(type, pricing)]));
  } catch (error) {
    throw new CatalogueError(`the stored prices cannot be read: ${String(error)}`);
  }
}

type Pricing = ReturnType<typeof pricingOf>;

function readPricing(kind: Price["kind"], pricing: Pricing): Price {
  switch (kind) {
    case "text": {
      const { extended, ...base } = pricing;
      const rates = readRates(base);
      if (extended === undefined) return { kind, rates };
      const { above_prompt_tokens: thresholdTokens, ...above } = extended;
      return { kind, rates, extended: { thresholdTokens, rates: readRates(above) } };
    }
    case "embedding":
      return { kind, input: atto(pricing.prompt) };
    case "speech":
      return { kind, character: atto(pricing.character) };
    case "transcription":
      return { kind, second: atto(pricing.audio_second) };
    case "image":
    case "edit":
    case "upscale": {
      const { image, image_by_quality: byQuality } = pricing;
      return {
        kind,
        byResolution: typeof image === "object" ? mapValues(image, atto) : { "*": atto(image) },
        ...(byQuality === undefined ? {} : { byQuality: mapValues(byQuality, (table) => mapValues(table, atto)) }),
      };
    }
    default:
      throw new TypeError(`no kind of price: ${kind}`);
  }
}

function readRates(
  listed: Pick<Pricing, "prompt" | "completion" | "input_cache_read" | "input_cache_write">,
): TokenRates {
  const { input_cache_read: read, input_cache_write: write } = listed;
  return {
    input: atto(listed.prompt),
    output: atto(listed.completion),
    ...(read === undefined ? {} : { cacheRead: atto(read) }),
    ...(write === undefined ? {} : { cacheWrite: atto(write) }),
  };
}

function atto(dollars: unknown): bigint {
  const value = typeof dollars === "string" ? parseDecimal(dollars, 18) : undefined;
  if (value === undefined) throw new TypeError(`no price: ${dollars}`);
  return value;
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
