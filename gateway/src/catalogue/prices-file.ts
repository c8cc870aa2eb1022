import type { AttoUsd, Model, ModelFeatures, Price, TokenRates } from "@inference/protocol/model";
import { parseDecimal } from "@inference/protocol/money";
import * as z from "zod";
import { present } from "./item.ts";

/**
 * The operator's own price file, for a provider whose catalogue has no prices (`overlay.ts` lays it over that catalogue):
 *
 *     { "models": [
 *       { "id": "some-text", "type": "text", "context_tokens": 131072, "max_output_tokens": 8192,
 *         "usd_per_million_tokens": { "input": "1.54", "output": "4.84", "cache_read": "0.29", "cache_write": "1.925",
 *           "extended": { "above_prompt_tokens": 200000, "input": "3.08", "output": "9.68" } } },
 *       { "id": "some-embedding", "type": "embedding", "context_tokens": 8192,
 *         "usd_per_million_tokens": { "input": "0.02" } },
 *       { "id": "some-voice", "type": "speech", "usd_per_million_characters": "3.5" },
 *       { "id": "some-listener", "type": "transcription", "usd_per_audio_second": "0.0001" },
 *       { "id": "flat-image", "type": "image", "usd_per_image": "0.01" },
 *       { "id": "some-image", "type": "image", "usd_per_image": { "1K": "0.27", "2K": "0.4" },
 *         "usd_per_image_by_quality": { "1K": { "low": "0.05", "high": "0.26" } },
 *         "features": { "defaultResolution": "1K", "defaultQuality": "high" } } ] }
 *
 * Prices are exact decimal strings of at most 10 places; "0" is a price. `created` (seconds), `owned_by` and `features`
 * are optional everywhere. A file with any mistake is rejected as a whole.
 */
const atto = (decimals: number) =>
  z.string().transform((text, context): AttoUsd => {
    const value = parseDecimal(text, 10);
    if (value !== undefined) return value * 10n ** BigInt(decimals);
    context.addIssue({ code: "custom", message: 'expected a decimal of at most 10 places, like "1.54"' });
    return z.NEVER;
  });
const perMillion = atto(2);
const perUnit = atto(8);

const rates = {
  input: perMillion,
  output: perMillion,
  cache_read: perMillion.optional(),
  cache_write: perMillion.optional(),
};
const count = z.int().min(1);
const texts = z.array(z.string().min(1)).min(1).optional();
const features = z.strictObject({
  name: z.string().optional(),
  supportsTools: z.boolean().optional(),
  supportsVision: z.boolean().optional(),
  supportsAudio: z.boolean().optional(),
  supportsVideo: z.boolean().optional(),
  supportsReasoning: z.boolean().optional(),
  supportsResponseSchema: z.boolean().optional(),
  quantization: z.string().optional(),
  privacy: z.enum(["private", "anonymized"]).optional(),
  defaultResolution: z.string().optional(),
  qualities: texts,
  defaultQuality: z.string().optional(),
  promptCharacterLimit: count.optional(),
  voices: texts,
  defaultVoice: z.string().optional(),
  formats: texts,
  defaultFormat: z.string().optional(),
});
const common = {
  id: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[^\n]*$/, "an id is one line"),
  created: z.int().min(0).default(0),
  owned_by: z.string().min(1).default("provider"),
  features: features.default({}),
};
const model = z.discriminatedUnion("type", [
  z.strictObject({
    ...common,
    type: z.literal("text"),
    context_tokens: count.optional(),
    max_output_tokens: count.optional(),
    usd_per_million_tokens: z.strictObject({
      ...rates,
      extended: z.strictObject({ above_prompt_tokens: count, ...rates }).optional(),
    }),
  }),
  z.strictObject({
    ...common,
    type: z.literal("embedding"),
    context_tokens: count.optional(),
    usd_per_million_tokens: z.strictObject({ input: perMillion }),
  }),
  z.strictObject({ ...common, type: z.literal("speech"), usd_per_million_characters: perMillion }),
  z.strictObject({ ...common, type: z.literal("transcription"), usd_per_audio_second: perUnit }),
  z.strictObject({
    ...common,
    type: z.literal("image"),
    usd_per_image: z.union([perUnit, z.record(z.string().min(1), perUnit)]),
    usd_per_image_by_quality: z.record(z.string().min(1), z.record(z.string().min(1), perUnit)).optional(),
  }),
]);

export const pricesFile = z.strictObject({ models: z.array(model).min(1) });
type Row = z.infer<typeof model>;

/** Throws a zod error that names each mistake. */
export function readPricesFile(body: unknown): Model[] {
  return pricesFile.parse(body).models.map((row) => ({
    id: row.id,
    created: row.created,
    ownedBy: row.owned_by,
    price: priceOf(row),
    contextTokens: "context_tokens" in row ? (row.context_tokens ?? null) : null,
    maxOutputTokens: "max_output_tokens" in row ? (row.max_output_tokens ?? null) : null,
    features: row.features as ModelFeatures,
  }));
}

function priceOf(row: Row): Price {
  switch (row.type) {
    case "text": {
      const { extended, ...base } = row.usd_per_million_tokens;
      if (extended === undefined) return { kind: "text", rates: ratesOf(base) };
      const { above_prompt_tokens: thresholdTokens, ...above } = extended;
      return { kind: "text", rates: ratesOf(base), extended: { thresholdTokens, rates: ratesOf(above) } };
    }
    case "embedding":
      return { kind: "embedding", input: row.usd_per_million_tokens.input };
    case "speech":
      return { kind: "speech", character: row.usd_per_million_characters };
    case "transcription":
      return { kind: "transcription", second: row.usd_per_audio_second };
    case "image": {
      const price = row.usd_per_image;
      const byResolution = typeof price === "bigint" ? { "*": price } : price;
      const byQuality = row.usd_per_image_by_quality;
      return { kind: "image", byResolution, ...(byQuality === undefined ? {} : { byQuality }) };
    }
  }
}

type ListedRates = z.infer<z.ZodObject<typeof rates>>;

function ratesOf({ input, output, cache_read: cacheRead, cache_write: cacheWrite }: ListedRates): TokenRates {
  return present<TokenRates>({ input, output, cacheRead, cacheWrite });
}
