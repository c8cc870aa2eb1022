import type { ModelFeatures, Price, TokenRates } from "@inference/protocol/model";
import type { JsonObject } from "../json-object.ts";
import { roundDecimal } from "../pricing/decimal.ts";
import {
  countAt,
  least,
  leaveOut,
  objectAt,
  perToken,
  present,
  type ReadItem,
  readPrice,
  requirePrice,
  textAt,
  textsAt,
} from "./item.ts";

/**
 * The catalogue shape of model routers: `pricing` holds dollars per token as decimal strings. A price other than those
 * read here, unless it is zero, leaves the model out; one for images or audio in the prompt leaves only those out.
 */
export const readPerToken: ReadItem = (item, id) => {
  const pricing = objectAt(item, "pricing");
  if (Object.keys(pricing).length === 0) leaveOut("it has no price");
  const architecture = objectAt(item, "architecture");
  const outputs = textsAt(architecture, "output_modalities") ?? ["text"];
  const top = objectAt(item, "top_provider");
  return {
    id,
    created: countAt(item, "created") ?? 0,
    ownedBy: textAt(item, "owned_by") ?? (id.includes("/") ? id.slice(0, id.indexOf("/")) : "provider"),
    price: readPricing(pricing, outputs),
    contextTokens: least(countAt(item, "context_length"), countAt(top, "context_length")),
    maxOutputTokens: countAt(top, "max_completion_tokens"),
    features: readItemFeatures(item),
  };
};

/** Requests with a search are refused, and so are images and audio that have their own price. */
const chargedElsewhere = ["web_search", "image", "audio", "input_audio_cache"];
const rateKeys = ["prompt", "completion", "input_cache_read", "input_cache_write"];

function readPricing(pricing: JsonObject, outputs: readonly string[]): Price {
  const price = (key: string): bigint | undefined => readPrice(pricing[key], perToken, key);
  for (const key of Object.keys(pricing)) {
    if (rateKeys.includes(key) || chargedElsewhere.includes(key) || isNothing(pricing[key])) continue;
    if (key === "internal_reasoning" && price(key) === price("completion")) continue;
    leaveOut(`its price ${key} is not modelled`);
  }
  const input = requirePrice(pricing.prompt, perToken, "prompt");
  if (outputs.every((output) => output === "embeddings")) return { kind: "embedding", input };
  if (!outputs.every((output) => output === "text")) leaveOut(`no route serves its output of ${outputs.join(" and ")}`);
  return {
    kind: "text",
    rates: present<TokenRates>({
      input,
      output: requirePrice(pricing.completion, perToken, "completion"),
      cacheRead: price("input_cache_read"),
      cacheWrite: price("input_cache_write"),
    }),
  };
}

/** No price, or a price of zero. */
function isNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  // `Number` reads white space and `0x0` as zero too.
  return roundDecimal(value, perToken.places) === 0n && Number(value) === 0;
}

/** A model's abilities, as such a row names them. */
export function readItemFeatures(item: JsonObject): ModelFeatures {
  const inputs = textsAt(objectAt(item, "architecture"), "input_modalities") ?? ["text"];
  const pricing = objectAt(item, "pricing");
  const parameters = textsAt(item, "supported_parameters") ?? [];
  const takes = (input: string): true | undefined =>
    inputs.includes(input) && isNothing(pricing[input]) ? true : undefined;
  const knows = (parameter: string): true | undefined => (parameters.includes(parameter) ? true : undefined);
  return present<ModelFeatures>({
    name: textAt(item, "name"),
    supportsTools: knows("tools"),
    supportsVision: takes("image"),
    supportsAudio: takes("audio"),
    supportsVideo: takes("video"),
    supportsReasoning: knows("reasoning"),
    supportsResponseSchema: knows("structured_outputs"),
  });
}
