import type { Model, ModelFeatures } from "@inference/protocol/model";
import { ownValue } from "@inference/protocol/own-value";
import { type Aliases, modelsOfAlias } from "./aliases.ts";
import { pricingOf } from "./pricing-object.ts";

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
