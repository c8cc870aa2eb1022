import { codingChoice, codingModel } from "@inference/protocol/coding-model";
import type { PriceSnapshot } from "@inference/protocol/model";
import { pricingOf } from "../catalogue/pricing-object.ts";
import type { DocumentedGateway } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import type { ConstantText } from "../http/constant-text.ts";
import { type BoundedMap, makeBoundedMap } from "../load/bounded-map.ts";
import { pricesInForce } from "./prices-in-force.ts";

/** The documents change with the gateway's version and its models. Clients may cache them for five minutes. */
export const cached = { "cache-control": "public, max-age=300" };

/** The texts that were made, by name. They change only when the example's model does. */
const made = new WeakMap<Gateway, BoundedMap<string, ConstantText>>();

export function madeOnce(gateway: Gateway, name: string, make: () => string): ConstantText {
  const texts = made.get(gateway) ?? makeBoundedMap<string, ConstantText>(32);
  made.set(gateway, texts);
  const text = texts.get(name) ?? { text: make() };
  // Each model name has its own texts. The last 32 are kept.
  if (!texts.has(name)) texts.set(name, text);
  return text;
}

type Examples = Pick<DocumentedGateway, "model" | "coding">;

/** The examples' models are found once for each snapshot. */
const examples = new WeakMap<PriceSnapshot, Examples>();

/** The gateway as its documentation names it. */
export function documented(gateway: Gateway): DocumentedGateway {
  const { baseUrl, chainIds } = gateway.config;
  return { baseUrl, chainIds, hasRelay: gateway.relay !== null, ...examplesOf(pricesInForce(gateway)) };
}

/** Models that are there; a name to replace while no prices are in force. */
function examplesOf(snapshot: PriceSnapshot | null): Examples {
  if (snapshot === null) return { model: NO_MODEL, coding: { model: NO_MODEL, contextLength: null, why: null } };
  const found = examples.get(snapshot) ?? findExamples(snapshot);
  examples.set(snapshot, found);
  return found;
}

function findExamples({ models }: PriceSnapshot): Examples {
  const texts = [...models.values()].filter(({ price }) => price.kind === "text");
  const model = texts[0]?.id ?? NO_MODEL;
  const coding = codingModel(
    texts.map(({ id, contextTokens, features, price }) => ({
      ...{ id, type: "text", context_length: contextTokens, pricing: pricingOf(price) },
      supported_parameters: features.supportsTools === true ? ["tools"] : [],
    })),
  );
  if (coding === undefined) return { model, coding: { model, contextLength: null, why: null } };
  return { model, coding: { model: coding.id, contextLength: coding.context_length, why: codingChoice(coding) } };
}

const NO_MODEL = "MODEL";
