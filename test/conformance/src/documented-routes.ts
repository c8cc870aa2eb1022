import assert from "node:assert/strict";
import { type DocumentedRoute, expectedRoutes, prefixes, someAddress, type Use } from "./documented.ts";

type Described = {
  tags: string[];
  security: Record<string, unknown>[];
  responses: Record<string, { description: string }>;
  parameters?: { in: string; required: boolean }[];
};
type OpenApi = { paths: Record<string, Record<string, Described>> };

/**
 * Every route of the gateway's own document. The users of a route come from the expected routes, else from the
 * document. An expected route that is not documented fails.
 */
export async function readDocumentedRoutes(url: string): Promise<readonly DocumentedRoute[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) =>
      pathsOf(path, described).map((each) =>
        routeOf(method.toUpperCase() as DocumentedRoute["method"], each, described),
      ),
    ),
  );
  const missing = expectedRoutes.filter((route) => !documented.some((each) => isSame(each, route)));
  assert.deepEqual(missing, [], "these routes are not documented");
  return documented;
}

/** Inference routes exist under both prefixes. */
function pathsOf(path: string, { tags }: Described): string[] {
  const filled = path.replace("/models/{id}", "/models/sim-small").replace(/\{(address|token)\}/, someAddress);
  return tags.includes("Inference") ? prefixes.map((prefix) => filled.replace(/^\/api\/v1/, prefix)) : [filled];
}

function routeOf(method: DocumentedRoute["method"], path: string, described: Described): DocumentedRoute {
  const route = { method, path };
  const { parameters = [] } = described;
  return {
    ...route,
    use: expectedRoutes.find((each) => isSame(each, route))?.use ?? useOf(described),
    needsQuery: parameters.some((parameter) => parameter.in === "query" && parameter.required),
  };
}

type Route = Pick<DocumentedRoute, "method" | "path">;

function isSame(one: Route, other: Route): boolean {
  return one.method === other.method && one.path === other.path;
}

/** As far as the document tells: an endpoint for any session looks like one for a wallet's own. */
function useOf({ tags, security, responses }: Described): Use {
  const schemes = security.flatMap(Object.keys);
  const codes = Object.values(responses).map(({ description }) => description);
  const has = (code: string): boolean => codes.some((description) => description.includes(`\`${code}\``));
  if (schemes.includes("operator")) return "operator";
  if (schemes.length === 0) return has("invalid_signature") ? "signed" : has("invalid_api_key") ? "models" : "public";
  if (!schemes.includes("apiKey")) return "personal";
  if (tags.includes("Inference")) return "paid";
  return has("wrong_identity") ? "account" : "reader";
}
