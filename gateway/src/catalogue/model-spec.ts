import type { ImageTable, ModelFeatures, Price, TextPrice, TokenRates } from "@inference/protocol/model";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import {
  countAt,
  leaveOut,
  objectAt,
  type PriceUnit,
  perImage,
  perMillion,
  perSecond,
  present,
  type ReadItem,
  readPrice,
  requirePrice,
  textAt,
  textsAt,
} from "./item.ts";
import { mapValues } from "./pricing-object.ts";

/**
 * The catalogue shape with `model_spec.pricing`: prices are `{usd}` objects, per million tokens for text and
 * embeddings, per million characters for speech under the same name `input`, per second for audio, per image by
 * resolution and quality. A price of a name that is not listed here leaves the model out.
 */
export const readModelSpec: ReadItem = (item, id, { atMs, betaModels }) => {
  const spec = objectAt(item, "model_spec");
  if (spec.beta === true && !betaModels) leaveOut("it is in beta, for callers that the provider has chosen");
  if (spec.offline === true) leaveOut("it is offline");
  if (isRetired(objectAt(spec, "deprecation"), atMs)) leaveOut("it is retired");
  const type = textAt(item, "type") ?? "unknown";
  const price = readPricing(type, objectAt(spec, "pricing"));
  return {
    id,
    created: countAt(item, "created") ?? 0,
    ownedBy: textAt(item, "owned_by") ?? "provider",
    price,
    contextTokens:
      (price.kind === "embedding" ? countAt(spec, "maxInputTokens") : null) ??
      countAt(spec, "availableContextTokens") ??
      countAt(item, "context_length"),
    maxOutputTokens: price.kind === "text" ? countAt(spec, "maxCompletionTokens") : null,
    features: readSpecFeatures(spec),
  };
};

function readPricing(type: string, pricing: JsonObject): Price {
  const known = pricingKeys.get(type) ?? leaveOut(`no route serves its type ${type}`);
  if (Object.keys(pricing).length === 0) leaveOut("it has no price");
  onlyKeys(pricing, known);
  if (type === "text") return textPrice(pricing);
  if (type === "embedding") return { kind: "embedding", input: requireUsd(pricing, "input", perMillion) };
  if (type === "tts") return { kind: "speech", character: requireUsd(pricing, "input", perMillion) };
  if (type === "asr") return { kind: "transcription", second: requireUsd(pricing, "per_audio_second", perSecond) };
  if (type === "inpaint") return { kind: "edit", ...editTable(pricing) };
  if (type === "upscale") return { kind: "upscale", byResolution: usdTable(objectAt(pricing, "upscale")) };
  return { kind: "image", ...imageTable(pricing, "generation") };
}

const rateKeys = ["input", "output", "cache_input", "cache_write"];
/** The output of an embedding is not in any usage. Images are enlarged by a model of their own. */
const pricingKeys = new Map([
  ["text", [...rateKeys, "extended"]],
  ["embedding", ["input", "output"]],
  ["tts", ["input"]],
  ["asr", ["per_audio_second"]],
  ["image", ["generation", "resolutions", "quality", "upscale"]],
  ["inpaint", ["inpaint", "resolutions", "quality", "inputImages"]],
  ["upscale", ["generation", "upscale"]],
]);

function textPrice(pricing: JsonObject): TextPrice {
  const rates = tokenRates(pricing);
  if (pricing.extended === undefined) return { kind: "text", rates };
  const extended = objectAt(pricing, "extended");
  onlyKeys(extended, [...rateKeys, "context_token_threshold"]);
  const thresholdTokens = countAt(extended, "context_token_threshold");
  if (thresholdTokens === null) leaveOut("its extended prices have no threshold");
  return { kind: "text", rates, extended: { thresholdTokens, rates: tokenRates(extended) } };
}

function tokenRates(pricing: JsonObject): TokenRates {
  return present<TokenRates>({
    input: requireUsd(pricing, "input", perMillion),
    output: requireUsd(pricing, "output", perMillion),
    cacheRead: usd(pricing, "cache_input", perMillion),
    cacheWrite: usd(pricing, "cache_write", perMillion),
  });
}

/** Prices of an edit of one image, which costs extra where none is included. */
function editTable(pricing: JsonObject): ImageTable {
  const table = imageTable(pricing, "inpaint");
  if (pricing.inputImages === undefined) return table;
  const images = objectAt(pricing, "inputImages");
  if (typeof images.included !== "number") leaveOut("its included images are no number");
  const extra = images.included >= 1 ? 0n : requireUsd(images, "additional", perImage);
  const add = (prices: Record<string, bigint>) => mapValues(prices, (price) => price + extra);
  const { byResolution, byQuality } = table;
  return {
    byResolution: add(byResolution),
    ...(byQuality === undefined ? {} : { byQuality: mapValues(byQuality, add) }),
  };
}

/** @param flat The name of the price of a model without resolutions. */
function imageTable(pricing: JsonObject, flat: "generation" | "inpaint"): ImageTable {
  const byResolution = usdTable(objectAt(pricing, "resolutions"));
  const byQuality = Object.entries(objectAt(pricing, "quality")).map(
    ([resolution, table]) =>
      [resolution, usdTable(isJsonObject(table) ? table : leaveOut("its quality prices are no table"))] as const,
  );
  if (Object.keys(byResolution).length === 0 && byQuality.length === 0) {
    byResolution["*"] = requireUsd(pricing, flat, perImage);
  }
  return {
    byResolution,
    ...(byQuality.length === 0 ? {} : { byQuality: Object.fromEntries(byQuality) }),
  };
}

function usdTable(table: JsonObject): Record<string, bigint> {
  return Object.fromEntries(Object.keys(table).map((key) => [key, requireUsd(table, key, perImage)]));
}

function usd(pricing: JsonObject, key: string, unit: PriceUnit): bigint | undefined {
  if (pricing[key] === undefined || pricing[key] === null) return undefined;
  return readPrice(objectAt(pricing, key).usd, unit, key) ?? leaveOut(`its price ${key} is not in dollars`);
}

function requireUsd(pricing: JsonObject, key: string, unit: PriceUnit): bigint {
  return requirePrice(objectAt(pricing, key).usd, unit, key);
}

function onlyKeys(pricing: JsonObject, known: readonly string[]): void {
  const unknown = Object.keys(pricing).find((key) => !known.includes(key));
  if (unknown !== undefined) leaveOut(`its price ${unknown} is not modelled`);
}

/** A retired model's requests may be answered, and billed, as another model's. */
function isRetired(deprecation: JsonObject, atMs: number): boolean {
  const dates = [deprecation.removesAt, deprecation.autoRemap === true ? deprecation.date : undefined];
  return dates.some((date) => typeof date === "string" && Date.parse(date) <= atMs);
}

export function readSpecFeatures(spec: JsonObject): ModelFeatures {
  const capabilities = objectAt(spec, "capabilities");
  const constraints = objectAt(spec, "constraints");
  const deprecation = objectAt(spec, "deprecation");
  const flag = (key: string): boolean | undefined => (capabilities[key] === true ? true : undefined);
  return present<ModelFeatures>({
    name: textAt(spec, "name"),
    supportsTools: flag("supportsFunctionCalling"),
    supportsVision: flag("supportsVision"),
    supportsAudio: flag("supportsAudioInput"),
    supportsVideo: flag("supportsVideoInput"),
    supportsReasoning: flag("supportsReasoning"),
    supportsResponseSchema: flag("supportsResponseSchema"),
    supportsLogProbs: flag("supportsLogProbs"),
    supportsTeeAttestation: flag("supportsTeeAttestation"),
    reasoningEffortOptions: textsAt(capabilities, "reasoningEffortOptions"),
    maxImages: countAt(capabilities, "maxImages") ?? undefined,
    quantization: textAt(capabilities, "quantization"),
    privacy: textAt(spec, "privacy"),
    regionRestrictions: textsAt(spec, "regionRestrictions"),
    removesAt: textAt(deprecation, "removesAt") ?? textAt(deprecation, "date"),
    replacementModel: textAt(deprecation, "replacementModelId"),
    defaultResolution: textAt(constraints, "defaultResolution"),
    qualities: textsAt(constraints, "qualities"),
    defaultQuality: textAt(constraints, "defaultQuality"),
    promptCharacterLimit: countAt(constraints, "promptCharacterLimit") ?? undefined,
    voices: textsAt(spec, "voices"),
    defaultVoice: textAt(spec, "default_voice"),
    formats: textsAt(spec, "supported_formats"),
    defaultFormat: textAt(spec, "default_format"),
  });
}
