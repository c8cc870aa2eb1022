import type { AttoUsd, Model, ModelFeatures, Price, TokenRates } from "@inference/protocol/model";
import { formatDecimal } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";

/**
 * A model as GET /models lists it: OpenAI's four fields, four more of Anthropic's client (`display_name`, `created_at`,
 * `max_input_tokens`, `max_tokens`), and its prices.
 */
export function toModelObject(model: Model): Record<string, unknown> {
  const { price, features } = model;
  return {
    id: model.id,
    object: "model",
    created: model.created,
    owned_by: model.ownedBy,
    type: typeNames[price.kind],
    ...(features.name === undefined ? {} : { name: features.name }),
    display_name: features.name ?? model.id,
    created_at: new Date(Math.min(model.created, MAX_CREATED_S) * 1000).toISOString(),
    context_length: model.contextTokens,
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
    ...(price.kind === "text" ? { supported_parameters: supportedParameters(features) } : {}),
    pricing: pricingOf(price),
    top_provider: { context_length: model.contextTokens, max_completion_tokens: model.maxOutputTokens },
    features: Object.fromEntries(
      Object.entries(features)
        .filter(([key]) => key !== "name")
        .map(([key, value]) => [snakeCase(key), value]),
    ),
  };
}

/** The provider's names of the kinds of models. */
const typeNames = {
  text: "text",
  embedding: "embedding",
  image: "image",
  speech: "tts",
  transcription: "asr",
  edit: "inpaint",
  upscale: "upscale",
} as const;

/** The last second of the year 9999. */
const MAX_CREATED_S = 253_402_300_799;

/** The chat fields that the model takes, by the names that catalogues of many models use. */
function supportedParameters({ supportsTools, supportsReasoning, supportsResponseSchema }: ModelFeatures): string[] {
  return [
    ...["max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "seed"],
    ...["frequency_penalty", "presence_penalty"],
    ...(supportsTools === true ? ["tools", "tool_choice"] : []),
    ...(supportsReasoning === true ? ["reasoning", "reasoning_effort"] : []),
    ...(supportsResponseSchema === true ? ["response_format", "structured_outputs"] : []),
  ];
}

/** Finds a model by the operator's alias, else by its id; undefined if it is not served. */
export function describeModel(
  aliases: Aliases,
  models: ReadonlyMap<string, Model>,
  id: string,
): Record<string, unknown> | undefined {
  const alias = ownValue(aliases, id);
  const [model, ...others] = modelsOfAlias(alias ?? [id], models);
  if (model === undefined) return undefined;
  const fallbacks = others.length === 0 ? {} : { fallbacks: others.map((other) => other.id) };
  return alias === undefined ? toModelObject(model) : { ...toModelObject(model), id, alias_of: model.id, ...fallbacks };
}

function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Prices as GET /models lists them: exact decimal strings in dollars per unit. `prompt` and `completion` are per token,
 * and "0" where something else is charged: `character`, `audio_second`, or `image`, which is one price or a table by
 * resolution.
 */
type PricingObject = Rates & {
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

/** The operator's names for models: for each alias the ids of its models, the first choice first. */
export type Aliases = Readonly<Record<string, readonly string[]>>;

/**
 * The models that an alias stands for now. Only chat has fallbacks. An embedding of another model, for example, does
 * not compare with those that a client has.
 */
export function modelsOfAlias(ids: readonly string[], models: ReadonlyMap<string, Model>): Model[] {
  return ids.flatMap((id, index) => {
    const model = models.get(id);
    return model === undefined || (index > 0 && model.price.kind !== "text") ? [] : model;
  });
}
