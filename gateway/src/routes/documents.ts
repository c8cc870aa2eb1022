import { GatewayError } from "@inference/protocol/errors";
import { errorAnswer } from "@inference/protocol/wire/answers";
import manifest from "../../package.json" with { type: "json" };
import { makeOpenApi, type OpenApi } from "../docs/openapi.ts";
import type { Gateway } from "../gateway.ts";
import { type BoundedMap, makeBoundedMap } from "../limits/bounded-map.ts";
import type { Endpoint } from "./endpoint.ts";

/** The documents change with the gateway and its models: a client may keep them for five minutes. */
export const cached = { "cache-control": "public, max-age=300" };

/** The last text of each kind: it is the same until the gateway starts again, or lists other models. */
const made = new WeakMap<Gateway, BoundedMap<string, string>>();

export function madeOnce(gateway: Gateway, name: string, make: () => string): string {
  const texts = made.get(gateway) ?? makeBoundedMap<string, string>(8);
  made.set(gateway, texts);
  const text = texts.get(name) ?? make();
  // Each model name makes its own page. Of a catalogue that changes the last eight pages are kept.
  if (!texts.has(name)) texts.set(name, text);
  return text;
}

export function openApiOf({ config: { baseUrl } }: Gateway, endpoints: readonly Endpoint[]): OpenApi {
  return makeOpenApi(endpoints, { baseUrl, version: manifest.version, error: errorAnswer });
}

/** A chat model that is there; a name to replace while no prices are in force. */
export function exampleModel({ prices }: Gateway): string {
  try {
    return [...prices.current().models.values()].find(({ price }) => price.kind === "text")?.id ?? "MODEL";
  } catch (error) {
    if (error instanceof GatewayError) return "MODEL";
    throw error;
  }
}
