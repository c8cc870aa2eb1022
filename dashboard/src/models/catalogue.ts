import { formatDecimal, parseDecimal } from "@inference/protocol/money";
import { Brain, Eye, Wrench } from "lucide-react";
import type { Model } from "../gateway.ts";
import { columnPrices, type PriceColumn, unitsOf } from "./cost.ts";

/** The kinds of models, in the order of the page. `unit`: of the prices in the table. */
export const KINDS = [
  { type: "text", title: "Text", unit: "per 1M tokens" },
  { type: "embedding", title: "Embeddings", unit: "per 1M tokens" },
  { type: "image", title: "Images", unit: "per image" },
  { type: "inpaint", title: "Image edits", unit: "per edit" },
  { type: "upscale", title: "Upscaling", unit: "per image" },
  { type: "tts", title: "Speech", unit: "per 1M characters" },
  { type: "asr", title: "Transcription", unit: "per minute of audio" },
] as const;

/** The capabilities with an icon. */
export const ABILITIES = [
  ["tools", "Tools", Wrench],
  ["vision", "Vision", Eye],
  ["reasoning", "Reasoning", Brain],
] as const;
export const CAPABILITIES = [...ABILITIES, ["cached", "Cached input", null]] as const;
type Capability = (typeof CAPABILITIES)[number][0];

export function can({ features, type, pricing }: Model, capability: Capability): boolean {
  if (capability === "cached") return columnPrices(type, pricing, "cached").length > 0;
  return features?.[`supports_${capability}`] === true;
}

export const CONTEXTS = [
  ["0", "Any"],
  ["128000", "128k"],
  ["256000", "256k"],
  ["1000000", "1M"],
] as const;

export type SortBy = "name" | "context" | PriceColumn;
const SORTS: readonly SortBy[] = ["name", "context", "input", "cached", "output"];

/** The choices of the page. All of them are in its address. */
export type Filters = {
  search: string;
  /** Empty: all. */
  types: readonly string[];
  capabilities: readonly Capability[];
  minContext: number;
  /** Dollars for 1M input tokens, in 1e-18 dollar; null: any. */
  mostInput: bigint | null;
  sort: SortBy;
  isDescending: boolean;
  /** The ids that are marked to compare. */
  marked: readonly string[];
};
export const MOST_MARKED = 4;

export function filtersOf(query: URLSearchParams): Filters {
  const list = (name: string): string[] => (query.get(name) ?? "").split(",").filter((each) => each !== "");
  const [sort = "context", order] = (query.get("sort") ?? "").split("-", 2);
  const known = SORTS.find((each) => each === sort) ?? "context";
  return {
    search: query.get("q") ?? "",
    types: list("type"),
    capabilities: CAPABILITIES.flatMap(([name]) => (list("can").includes(name) ? [name] : [])),
    minContext: Number(CONTEXTS.find(([value]) => value === query.get("context"))?.[0] ?? 0),
    mostInput: parseDecimal(query.get("input") ?? "", 18) ?? null,
    sort: known,
    isDescending: order === undefined ? known === "context" : order === "down",
    marked: list("marked").slice(0, MOST_MARKED),
  };
}

/** The query of the address; what is not chosen is left out. */
export function queryOf(filters: Filters): Record<string, string> {
  const { search, types, capabilities, minContext, mostInput, sort, isDescending, marked } = filters;
  const order = `${sort}-${isDescending ? "down" : "up"}`;
  const all = {
    q: search,
    type: types.join(","),
    can: capabilities.join(","),
    context: minContext === 0 ? "" : String(minContext),
    input: mostInput === null ? "" : formatDecimal(mostInput, 18),
    sort: order === "context-down" ? "" : order,
    marked: marked.join(","),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

/** The models that fit the filters, in the chosen order. A model without the sorted figure comes last. */
export function find(models: readonly Model[], filters: Filters): Model[] {
  const { search, types, capabilities, minContext, mostInput, sort, isDescending } = filters;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = models.filter((model) => {
    const text = `${model.id} ${model.display_name}`.toLowerCase();
    return (
      words.every((word) => text.includes(word)) &&
      (types.length === 0 || types.includes(model.type)) &&
      capabilities.every((capability) => can(model, capability)) &&
      (minContext === 0 || (model.context_length ?? 0) >= minContext) &&
      (mostInput === null || isAtMost(inputPrice(model), mostInput))
    );
  });
  const sign = isDescending ? -1 : 1;
  return found.toSorted((one, other) => {
    if (sort === "name") return sign * one.id.localeCompare(other.id);
    const [first, second] = [figure(one, sort), figure(other, sort)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return first === second ? one.id.localeCompare(other.id) : first < second ? -sign : sign;
  });
}

/** The distinct input prices for 1M tokens, the lowest first, in 1e-18 dollar. */
export function inputPrices(models: readonly Model[]): bigint[] {
  const prices = models.flatMap((model) => inputPrice(model) ?? []);
  return [...new Set(prices)].sort((one, other) => (one < other ? -1 : 1));
}

/** The usual price of 1M input tokens; null: the model has none. */
function inputPrice({ type, pricing }: Model): bigint | null {
  const [usual] = columnPrices(type, pricing, "input");
  return usual?.of === "prompt" ? usual.atto * unitsOf(usual.of) : null;
}

function isAtMost(price: bigint | null, most: bigint): boolean {
  return price !== null && price <= most;
}

function figure(model: Model, sort: Exclude<SortBy, "name">): bigint | null {
  if (sort === "context") return model.context_length === null ? null : BigInt(model.context_length);
  const [usual] = columnPrices(model.type, model.pricing, sort);
  return usual === undefined ? null : usual.atto * unitsOf(usual.of);
}

/** The ids that are most like one that does not exist: at most three, the most alike first. */
export function nearestIds(models: readonly Model[], id: string): string[] {
  const wanted = pairsOf(id);
  return models
    .map((model) => {
      const pairs = pairsOf(model.id);
      const shared = [...pairs].filter((pair) => wanted.has(pair)).length;
      return { id: model.id, alike: (2 * shared) / Math.max(1, pairs.size + wanted.size) };
    })
    .filter(({ alike }) => alike > 0.2)
    .sort((one, other) => other.alike - one.alike)
    .slice(0, 3)
    .map((model) => model.id);
}

function pairsOf(id: string): Set<string> {
  const text = ` ${id.toLowerCase().replace(/[^a-z0-9]+/g, " ")} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, index) => text.slice(index, index + 2)));
}
