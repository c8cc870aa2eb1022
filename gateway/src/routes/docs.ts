import { GatewayError } from "@inference/protocol/errors";
import { errorAnswer } from "@inference/protocol/wire/answers";
import manifest from "../../package.json" with { type: "json" };
import { makeLlmsText } from "../docs/llms-text.ts";
import { makeOpenApi, type OpenApi } from "../docs/openapi.ts";
import { makePage } from "../docs/page.ts";
import { type Snippet, snippets } from "../docs/snippets.ts";
import { walletSteps } from "../docs/wallet-program.ts";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";
import { type BoundedMap, makeBoundedMap } from "../limits/bounded-map.ts";
import { operations } from "./operations.ts";

/** GET /: where a reader goes from here. */
export function getRoot(context: GatewayContext): Response {
  const { baseUrl } = context.get("gateway").config;
  const paths = { docs: "/docs", openapi: "/openapi.json", llms: "/llms.txt", models: "/api/v1/models" };
  const links = Object.entries({ ...paths, status: "/api/v1/status" }).map(([name, path]) => [name, baseUrl + path]);
  return context.json({ name: "Inference gateway", version: manifest.version, ...Object.fromEntries(links) });
}

/** GET /openapi.json */
export function getOpenApi(context: GatewayContext): Response {
  const gateway = context.get("gateway");
  const text = madeOnce(gateway, "openapi", () => JSON.stringify(openApiOf(gateway)));
  return context.body(text, 200, { ...cached, "content-type": "application/json" });
}

/** GET /docs: a page without scripts, and with nothing from elsewhere. */
export function getDocs(context: GatewayContext): Response {
  const gateway = context.get("gateway");
  const { baseUrl, chainIds } = gateway.config;
  const at = { baseUrl, model: exampleModel(gateway) };
  const page = madeOnce(gateway, `docs of ${at.model}`, () =>
    makePage(openApiOf(gateway), operations, { baseUrl, chainIds, snippets: snippets(at), steps: walletSteps(at) }),
  );
  return context.html(page, 200, {
    ...cached,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
  });
}

/** GET /llms.txt */
export function getLlmsText(context: GatewayContext): Response {
  const gateway = context.get("gateway");
  const { baseUrl, chainIds } = gateway.config;
  const at = { baseUrl, model: exampleModel(gateway) };
  const curl = snippets(at).find(({ id }) => id === "curl") as Snippet;
  const text = madeOnce(gateway, `llms of ${at.model}`, () =>
    makeLlmsText(operations, { ...at, chainIds, curl, steps: walletSteps(at) }),
  );
  return context.text(text, 200, cached);
}

const cached = { "cache-control": "public, max-age=300" };

/** The last text of each kind: it is the same until the gateway starts again, or lists other models. */
const made = new WeakMap<Gateway, BoundedMap<string, string>>();

function madeOnce(gateway: Gateway, name: string, make: () => string): string {
  const texts = made.get(gateway) ?? makeBoundedMap<string, string>(8);
  made.set(gateway, texts);
  const text = texts.get(name) ?? make();
  // Each model name makes its own page. Of a catalogue that changes the last eight pages are kept.
  if (!texts.has(name)) texts.set(name, text);
  return text;
}

function openApiOf({ config: { baseUrl } }: Gateway): OpenApi {
  return makeOpenApi(operations, { baseUrl, version: manifest.version, error: errorAnswer });
}

/** A chat model that is there; a name to replace while no prices are in force. */
function exampleModel({ prices }: Gateway): string {
  try {
    return [...prices.current().models.values()].find(({ price }) => price.kind === "text")?.id ?? "MODEL";
  } catch (error) {
    if (error instanceof GatewayError) return "MODEL";
    throw error;
  }
}
