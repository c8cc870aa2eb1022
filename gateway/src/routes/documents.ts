import type { DocumentedGateway } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { type BoundedMap, makeBoundedMap } from "../limits/bounded-map.ts";
import { pricesInForce } from "./prices-in-force.ts";

/** The documents change with the gateway's version and its models. Clients may cache them for five minutes. */
export const cached = { "cache-control": "public, max-age=300" };

/** The texts that were made, by name. They change only when the example's model does. */
const made = new WeakMap<Gateway, BoundedMap<string, string>>();

export function madeOnce(gateway: Gateway, name: string, make: () => string): string {
  const texts = made.get(gateway) ?? makeBoundedMap<string, string>(8);
  made.set(gateway, texts);
  const text = texts.get(name) ?? make();
  // Each model name has its own page. The last eight texts are kept.
  if (!texts.has(name)) texts.set(name, text);
  return text;
}

/** The gateway as its documentation names it. */
export function documented(gateway: Gateway): DocumentedGateway {
  const { baseUrl, chainIds } = gateway.config;
  return { baseUrl, chainIds, model: exampleModel(gateway) };
}

/** A chat model that is there; a name to replace while no prices are in force. */
function exampleModel(gateway: Gateway): string {
  const models = pricesInForce(gateway)?.models.values() ?? [];
  return [...models].find(({ price }) => price.kind === "text")?.id ?? "MODEL";
}
