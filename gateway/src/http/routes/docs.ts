import { GatewayError } from "@inference/protocol/errors";
import { errorAnswer } from "@inference/protocol/wire/answers";
import manifest from "../../../package.json" with { type: "json" };
import { makeLlmsText } from "../../docs/llms-text.ts";
import { makeOpenApi, type OpenApi } from "../../docs/openapi.ts";
import { makePage } from "../../docs/page.ts";
import { type Snippet, snippets } from "../../docs/snippets.ts";
import type { Gateway } from "../../gateway.ts";
import type { GatewayContext } from "../context.ts";
import { operations } from "../operations.ts";

/** GET /openapi.json */
export function getOpenApi(context: GatewayContext): Response {
  return context.json(openApiOf(context.get("gateway")), 200, cached);
}

/** GET /docs: a page without scripts, and with nothing from elsewhere. */
export function getDocs(context: GatewayContext): Response {
  const gateway = context.get("gateway");
  const { baseUrl } = gateway.config;
  const page = makePage(openApiOf(gateway), operations, { baseUrl, snippets: snippetsFor(gateway) });
  return context.html(page, 200, {
    ...cached,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
  });
}

/** GET /llms.txt */
export function getLlmsText(context: GatewayContext): Response {
  const gateway = context.get("gateway");
  const { baseUrl } = gateway.config;
  const curl = snippetsFor(gateway).find(({ id }) => id === "curl") as Snippet;
  const text = makeLlmsText(operations, { baseUrl, curl, model: exampleModel(gateway) });
  return context.text(text, 200, cached);
}

const cached = { "cache-control": "public, max-age=300" };

/** Made once for a gateway: it is the same until the next one starts. */
const made = new WeakMap<Gateway, OpenApi>();

function openApiOf(gateway: Gateway): OpenApi {
  let openApi = made.get(gateway);
  if (openApi === undefined) {
    const { baseUrl } = gateway.config;
    openApi = makeOpenApi(operations, { baseUrl, version: manifest.version, error: errorAnswer });
    made.set(gateway, openApi);
  }
  return openApi;
}

function snippetsFor(gateway: Gateway): Snippet[] {
  return snippets({ baseUrl: gateway.config.baseUrl, model: exampleModel(gateway) });
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
