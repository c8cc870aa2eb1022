import {
  COMPATIBILITY,
  IMAGE_STYLES,
  isPublic,
  MODEL_SEEDS,
  type ModelSeed,
  TRAITS,
  UNLISTED_PRICE,
} from "./catalogue-data.ts";
import { FAULT_PREFIX } from "./faults.ts";
import { type PriceSpec, priceToWire, type TextRates, textRates } from "./pricing.ts";
import { MODEL_PREFIX } from "./wire.ts";

const CREATED = 1_727_966_436;
const LIST_TYPES = new Set([
  "asr",
  "decision",
  "embedding",
  "image",
  "inpaint",
  "music",
  "text",
  "tts",
  "upscale",
  "video",
]);

/** A model as it is served now: its price may have been replaced since the start. */
export interface Model {
  readonly seed: ModelSeed;
  readonly id: string;
  /** What is billed, listed or not. */
  readonly pricing: PriceSpec;
  readonly rates: TextRates;
  readonly offline: boolean;
  /** The fault this row stands for, if it is a fault row. */
  readonly fault: string | null;
}

export interface Catalogue {
  find(id: string): Model | null;
  /** Whether there is such a row, listed at this moment or not. */
  knows(id: string): boolean;
  /** As the provider resolves a requested name for a route of this type: ids, traits, aliases, spellings, suffixes. */
  resolve(name: string, type: ModelSeed["type"]): { model: Model; suffix: string } | null;
  suggest(name: string): string | null;
  /** The body of `GET /models?type=`, with or without the models that tests need; null for an unknown type. */
  listing(type: string, withFaults: boolean): string | null;
  traits(type: string): string;
  compatibility(type: string): string;
  styles(): string;
  setPrice(id: string, pricing: PriceSpec | null): void;
  setOffline(id: string, offline: boolean): void;
  setListed(id: string, listed: boolean): void;
  reset(): void;
}

export function createCatalogue(): Catalogue {
  let models = seedModels();
  let unpriced = seedsWithoutPrice();
  let removed = new Set<string>();
  const listings = new Map<string, string>();

  const replace = (id: string, change: (model: Model) => Model): void => {
    const model = models.get(id);
    if (model === undefined) throw new RangeError(`no such model: ${id}`);
    models.set(id, change(model));
    listings.clear();
  };
  const find = (id: string): Model | null => (removed.has(id) ? null : (models.get(id) ?? null));

  return {
    find,
    knows: (id) => models.has(id),
    resolve(name, type) {
      const colon = name.indexOf(":");
      const base = colon === -1 ? name : name.slice(0, colon);
      const suffix = colon === -1 ? "" : name.slice(colon + 1);
      for (const candidate of spellings(base, type)) {
        const model = find(candidate);
        if (model !== null && model.seed.type === type) return { model, suffix };
      }
      return null;
    },
    suggest(name) {
      const start = name.slice(0, 5).toLowerCase();
      for (const id of models.keys()) if (id.startsWith(start) && find(id) !== null) return id;
      return null;
    },
    listing(type, withFaults) {
      if (type !== "all" && type !== "code" && !LIST_TYPES.has(type)) return null;
      const name = `${type} ${withFaults}`;
      const known = listings.get(name);
      if (known !== undefined) return known;
      const rows = [...models.values()].filter(
        (model) => !removed.has(model.id) && isOfType(model, type) && (withFaults || isPublic(model.id)),
      );
      const data = rows.map((model) => toWire(model, unpriced.has(model.id)));
      const body = JSON.stringify({ object: "list", type, data });
      listings.set(name, body);
      return body;
    },
    traits: (type) => JSON.stringify({ object: "list", type, data: TRAITS[type] ?? {} }),
    compatibility: (type) => JSON.stringify({ object: "list", type, data: COMPATIBILITY[type] ?? {} }),
    styles: () => JSON.stringify({ object: "list", data: IMAGE_STYLES }),
    setPrice(id, pricing) {
      if (pricing === null) unpriced.add(id);
      else unpriced.delete(id);
      const billed = pricing ?? UNLISTED_PRICE;
      replace(id, (model) => ({ ...model, pricing: billed, rates: textRates(billed) }));
    },
    setOffline: (id, offline) => replace(id, (model) => ({ ...model, offline })),
    setListed(id, listed) {
      if (listed) removed.delete(id);
      else removed.add(id);
      replace(id, (model) => model);
    },
    reset() {
      models = seedModels();
      unpriced = seedsWithoutPrice();
      removed = new Set();
      listings.clear();
    },
  };
}

function seedsWithoutPrice(): Set<string> {
  return new Set(MODEL_SEEDS.filter((seed) => seed.pricing === null).map((seed) => seed.id));
}

function seedModels(): Map<string, Model> {
  return new Map(
    MODEL_SEEDS.map((seed) => {
      const pricing = seed.pricing ?? UNLISTED_PRICE;
      const fault = seed.id.startsWith(FAULT_PREFIX) ? seed.id.slice(FAULT_PREFIX.length) : null;
      const offline = seed.offline === true;
      return [seed.id, { seed, id: seed.id, pricing, rates: textRates(pricing), offline, fault }];
    }),
  );
}

function* spellings(name: string, type: string): Generator<string> {
  yield name;
  const trait = TRAITS[type]?.[name];
  if (trait !== undefined) yield trait;
  const alias = COMPATIBILITY[type]?.[name];
  if (alias !== undefined) yield alias;
  const plain = name.toLowerCase().replace(/[._ ]/g, "-");
  yield plain;
  if (plain.startsWith(MODEL_PREFIX)) yield plain.slice(MODEL_PREFIX.length);
}

function isOfType(model: Model, type: string): boolean {
  if (type === "all") return true;
  if (type === "code") return model.seed.isFor === "code";
  return model.seed.type === type;
}

function toWire(model: Model, withoutPrice: boolean): Record<string, unknown> {
  const { seed } = model;
  const traits = Object.entries(TRAITS[seed.type] ?? {}).flatMap(([trait, id]) => (id === seed.id ? [trait] : []));
  const wire: Record<string, unknown> = {
    id: seed.id,
    object: "model",
    type: seed.type,
    owned_by: "provider",
    created: CREATED,
    ...(seed.context === undefined ? {} : { context_length: seed.context }),
    model_spec: {
      name: seed.id,
      description: "Served by the simulator.",
      privacy: "private",
      modelSource: "https://provider.example/models",
      traits,
      regionRestrictions: [],
      offline: model.offline,
      ...(withoutPrice ? {} : { pricing: priceToWire(model.pricing) }),
      ...(seed.type === "text" ? textSpec(seed) : {}),
      ...deprecation(seed),
      ...seed.spec,
    },
  };
  return wire;
}

function textSpec(seed: ModelSeed): Record<string, unknown> {
  return {
    availableContextTokens: seed.context,
    maxCompletionTokens: seed.maxCompletion,
    capabilities: {
      optimizedForCode: seed.isFor === "code",
      quantization: "fp8",
      supportsFunctionCalling: true,
      supportsAudioInput: false,
      supportsReasoning: seed.isFor === "reasoning",
      supportsReasoningEffort: false,
      supportsResponseSchema: true,
      supportsMultipleImages: true,
      supportsVision: true,
      supportsVideoInput: false,
      supportsWebSearch: true,
      supportsLogProbs: false,
      supportsTeeAttestation: false,
      supportsE2EE: false,
      supportsXSearch: false,
    },
    constraints: { temperature: { default: 0.7 }, top_p: { default: 0.9 } },
  };
}

function deprecation(seed: ModelSeed): Record<string, unknown> {
  if (seed.remapTo === undefined) return {};
  return {
    deprecation: {
      autoRemap: true,
      date: "2026-01-01",
      startsAt: "2026-01-01T00:00:00.000Z",
      removesAt: "2027-01-01T00:00:00.000Z",
      replacementModelId: seed.remapTo,
    },
  };
}
