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

const CREATED = 1_727_966_436;

/** A model with its current price. */
export interface Model {
  readonly seed: ModelSeed;
  readonly id: string;
  /** The billed price, listed or not. */
  readonly pricing: PriceSpec;
  readonly rates: TextRates;
  /** The fault of a model called `fault-<name>`. */
  readonly fault: string | null;
}

export interface Catalogue {
  /** Null for an unknown or unlisted model. */
  find(id: string): Model | null;
  /** Whether the model exists, listed or not. */
  knows(id: string): boolean;
  /** The body of `GET /models?type=`, with or without the models for tests. */
  listing(type: string, withFaults: boolean): string;
  traits(type: string): string;
  compatibility(type: string): string;
  styles(): string;
  setPrice(id: string, pricing: PriceSpec | null): void;
  setListed(id: string, listed: boolean): void;
  reset(): void;
}

export function createCatalogue(): Catalogue {
  let models = seedModels();
  let unpriced = seedsWithoutPrice();
  let removed = new Set<string>();
  const listings = new Map<string, string>();
  const toggle = (set: Set<string>, id: string, isIn: boolean): void => {
    if (isIn) set.add(id);
    else set.delete(id);
    listings.clear();
  };

  return {
    find: (id) => (removed.has(id) ? null : (models.get(id) ?? null)),
    knows: (id) => models.has(id),
    listing(type, withFaults) {
      const name = `${type} ${withFaults}`;
      const known = listings.get(name);
      if (known !== undefined) return known;
      const rows = [...models.values()].filter(
        ({ id, seed }) => !removed.has(id) && (type === "all" || seed.type === type) && (withFaults || isPublic(id)),
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
      const model = models.get(id);
      if (model === undefined) return;
      const billed = pricing ?? UNLISTED_PRICE;
      models.set(id, { ...model, pricing: billed, rates: textRates(billed) });
      toggle(unpriced, id, pricing === null);
    },
    setListed: (id, listed) => toggle(removed, id, !listed),
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
      return [seed.id, { seed, id: seed.id, pricing, rates: textRates(pricing), fault }];
    }),
  );
}

function toWire({ seed, pricing }: Model, withoutPrice: boolean): Record<string, unknown> {
  const traits = Object.entries(TRAITS[seed.type] ?? {}).flatMap(([trait, id]) => (id === seed.id ? [trait] : []));
  return {
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
      offline: false,
      ...(withoutPrice ? {} : { pricing: priceToWire(pricing) }),
      ...(seed.type === "text" ? textSpec(seed) : {}),
      ...seed.spec,
    },
  };
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
