import type { Model, PriceSnapshot } from "@inference/protocol/model";
import * as z from "zod";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import type { Aliases } from "./aliases.ts";
import { CatalogueError } from "./catalogue-error.ts";
import { LeftOut, type ReadItem } from "./item.ts";
import { readModelSpec } from "./model-spec.ts";
import { readPerToken } from "./per-token.ts";
import { priceText, snapshotId } from "./price-text.ts";
import { readPricesFile } from "./prices-file.ts";

/** How a catalogue lists its prices. Each shape has its own file. */
type CatalogueShape = "model-spec" | "per-token" | "prices-file";

export type CatalogueTerms = {
  atMs: number;
  shape?: CatalogueShape | "auto";
  /** Whether models are offered that the provider serves to some callers only. */
  betaModels?: boolean;
  /** The operator's names, alias to ids. They are checked here, so that a wrong one shows in the log. */
  aliases?: Aliases;
};

export type Catalogue = {
  snapshot: PriceSnapshot;
  /** The text of its prices, whose digest is the snapshot's id. */
  prices: string;
  /** Models of the catalogue that are not served, for the operator's log. */
  leftOut: { id: string; reason: string }[];
};

/**
 * Parses a catalogue into the models that can be priced and served.
 *
 * @throws CatalogueError if the body is not such a catalogue. A single invalid row is left out, with the reason.
 */
export function parseCatalogue(bodyText: string, terms: CatalogueTerms): Catalogue {
  const { shape = "auto" } = terms;
  const body = parseBody(bodyText);
  const actual = shape === "auto" ? detectShape(body) : shape;
  return catalogueOf(actual === "prices-file" ? pricesFileModels(body) : readItems(body, actual, terms), terms);
}

/** The catalogue of these models. */
export function catalogueOf({ models, leftOut }: Reading, { atMs, aliases = {} }: CatalogueTerms): Catalogue {
  for (const [alias, ids] of Object.entries(aliases)) {
    if (models.has(alias)) leftOut.push({ id: alias, reason: `an alias of this name stands for ${ids.join(", ")}` });
    for (const id of ids)
      if (!models.has(id)) leftOut.push({ id: alias, reason: `an alias of ${id}, which is not served` });
  }
  const prices = priceText(models.values());
  return { snapshot: { id: snapshotId(prices), atMs, models }, prices, leftOut };
}

export type Reading = { models: Map<string, Model>; leftOut: Catalogue["leftOut"] };

function readItems(body: JsonObject, shape: "model-spec" | "per-token", terms: CatalogueTerms): Reading {
  const items = body.data;
  if (!Array.isArray(items)) throw new CatalogueError("the catalogue has no list `data`");
  const read = shape === "model-spec" ? readModelSpec : readPerToken;
  const models = new Map<string, Model>();
  const leftOut: Catalogue["leftOut"] = [];
  const seen = new Set<string>();
  for (const item of items) {
    const id = isJsonObject(item) && typeof item.id === "string" ? item.id.slice(0, 256) : "(without an id)";
    const outcome = seen.has(id) ? "it is listed more than once" : readItem(read, item, id, terms);
    seen.add(id);
    if (typeof outcome !== "string") models.set(id, outcome);
    else {
      // Two rows with one id: it is unknown which one is billed.
      models.delete(id);
      leftOut.push({ id, reason: outcome });
    }
  }
  return { models, leftOut };
}

function readItem(
  read: ReadItem,
  item: unknown,
  id: string,
  { atMs, betaModels = false }: CatalogueTerms,
): Model | string {
  // A line break ends a model's id in the ids of totals.
  if (!isJsonObject(item) || item.id !== id || id === "" || id.includes("\n")) return "it has no usable id";
  try {
    return read(item, id, { atMs, betaModels });
  } catch (error) {
    if (error instanceof LeftOut) return error.message;
    throw error;
  }
}

export function pricesFileModels(body: JsonObject): Reading {
  const models = new Map<string, Model>();
  try {
    for (const model of readPricesFile(body)) {
      if (models.has(model.id)) throw new CatalogueError(`the price file has ${model.id} twice`);
      models.set(model.id, model);
    }
  } catch (error) {
    if (error instanceof z.ZodError)
      throw new CatalogueError(`the price file is not valid:\n${z.prettifyError(error)}`);
    throw error;
  }
  return { models, leftOut: [] };
}

export function parseBody(bodyText: string): JsonObject {
  let body: unknown;
  try {
    body = JSON.parse(bodyText);
  } catch {
    throw new CatalogueError("the catalogue is not JSON");
  }
  if (!isJsonObject(body)) throw new CatalogueError("the catalogue is not a JSON object");
  return body;
}

function detectShape(body: JsonObject): CatalogueShape {
  // Some servers have a list `models` of their own beside OpenAI's `data`.
  if (Array.isArray(body.models) && !Array.isArray(body.data)) return "prices-file";
  const items: unknown[] = Array.isArray(body.data) ? body.data : [];
  if (items.some((item) => isJsonObject(item) && isJsonObject(item.model_spec))) return "model-spec";
  if (items.some((item) => isJsonObject(item) && isJsonObject(item.pricing))) return "per-token";
  throw new CatalogueError("the catalogue lists no prices; a price file can give them (PRICES_FILE)");
}
