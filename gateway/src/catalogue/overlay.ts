import type { Model, ModelFeatures } from "@inference/protocol/model";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { type Catalogue, type CatalogueTerms, catalogueOf, parseBody, pricesFileModels } from "./catalogue.ts";
import { CatalogueError } from "./catalogue-error.ts";
import { countAt, least, objectAt } from "./item.ts";
import { readSpecFeatures } from "./model-spec.ts";
import { readItemFeatures } from "./per-token.ts";

/** The rows of a provider's list, by id. */
export type ListedItems = ReadonlyMap<unknown, JsonObject>;

/** Null if the provider's answer is no list. Throws `CatalogueError` for a list that is empty or not JSON. */
export function listedItems(text: string): ListedItems | null {
  const { data } = parseBody(text);
  if (!Array.isArray(data)) return null;
  const items = new Map(data.filter(isJsonObject).map((item) => [item.id, item]));
  if (items.size === 0) throw new CatalogueError("the provider's list is empty");
  return items;
}

/**
 * Lays the operator's price file over the provider's list. A model of the file that the provider does not list is left
 * out, because each request for it would fail. The list completes the models of the file.
 *
 * @param listed The provider's list; null if it has none: then the file alone counts.
 * @throws CatalogueError if the file is not valid.
 */
export function overlay(
  pricesFile: string,
  listed: ListedItems | null,
  terms: CatalogueTerms,
): Catalogue & { unlisted: readonly string[] } {
  const { models, leftOut } = pricesFileModels(parseBody(pricesFile));
  const unlisted = listed === null ? [] : [...models.keys()].filter((id) => !listed.has(id));
  for (const id of unlisted) {
    models.delete(id);
    leftOut.push({ id, reason: "the provider does not list it" });
  }
  for (const [id, model] of models) models.set(id, completed(model, listed?.get(id) ?? {}));
  return { ...catalogueOf({ models, leftOut }, terms), unlisted };
}

function completed(model: Model, item: JsonObject): Model {
  const { price, contextTokens, maxOutputTokens, features } = model;
  const spec = objectAt(item, "model_spec");
  const top = objectAt(item, "top_provider");
  const said: ModelFeatures = { ...readItemFeatures(item), ...readSpecFeatures(spec) };
  return {
    ...model,
    contextTokens: contextTokens ?? contextOf(item, spec, top),
    maxOutputTokens:
      price.kind === "text"
        ? (maxOutputTokens ?? countAt(spec, "maxCompletionTokens") ?? countAt(top, "max_completion_tokens"))
        : null,
    features: { ...said, ...features },
  };
}

/** The context, as vLLM, Venice, OpenRouter and llama.cpp call it. */
function contextOf(item: JsonObject, spec: JsonObject, top: JsonObject): number | null {
  return (
    countAt(item, "max_model_len") ??
    countAt(spec, "maxInputTokens") ??
    countAt(spec, "availableContextTokens") ??
    least(countAt(item, "context_length"), countAt(top, "context_length")) ??
    countAt(objectAt(item, "meta"), "n_ctx_train")
  );
}
