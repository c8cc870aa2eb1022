import type { Model, ModelFeatures } from "@inference/protocol/model";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { type Catalogue, type CatalogueTerms, catalogueOf, parseBody, pricesFileModels } from "./catalogue.ts";
import { countAt, least, objectAt } from "./item.ts";
import { readSpecFeatures } from "./model-spec.ts";
import { readItemFeatures } from "./per-token.ts";

/**
 * Lays the operator's price file over the provider's list. A model of the file that the provider does not list is left
 * out, because each request for it would fail. What the file does not say of a model, the list says.
 *
 * @param list The provider's list; null if it has none: then the file alone counts.
 * @throws CatalogueError if the file is not valid, or the list is not JSON.
 */
export function overlay(
  pricesFile: string,
  list: string | null,
  terms: CatalogueTerms,
): Catalogue & { unlisted: readonly string[] } {
  const { models, leftOut } = pricesFileModels(parseBody(pricesFile));
  const listed = list === null ? null : itemsOf(parseBody(list));
  const unlisted = listed === null ? [] : [...models.keys()].filter((id) => !listed.has(id));
  for (const id of unlisted) {
    models.delete(id);
    leftOut.push({ id, reason: "the provider does not list it" });
  }
  for (const [id, model] of models) models.set(id, completed(model, listed?.get(id) ?? {}));
  return { ...catalogueOf({ models, leftOut }, terms), unlisted };
}

/** The rows of a list by id; null if it is no list. */
function itemsOf({ data }: JsonObject): ReadonlyMap<unknown, JsonObject> | null {
  return Array.isArray(data) ? new Map(data.filter(isJsonObject).map((item) => [item.id, item])) : null;
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
