import type { GatewayContext, Handler } from "../http/context.ts";
import { inferenceRoutes } from "../inference/routes.ts";
import { getActivity } from "./activity.ts";
import { deleteAuth, getNonce, postAuth } from "./auth.ts";
import { getImageStyles, getModelCompatibility, getModelTraits } from "./catalogue.ts";
import { getContracts } from "./contracts.ts";
import { getCredits } from "./credits.ts";
import { getDocs, getLlmsText, getOpenApi, getRoot } from "./docs.ts";
import { getGeneration } from "./generation.ts";
import { getHealth } from "./health.ts";
import { handleInference } from "./inference.ts";
import { getKey } from "./key.ts";
import { deleteKey, listKeys, patchKey, postKey, postLimit, postRoll } from "./keys.ts";
import { getMetrics } from "./metrics.ts";
import { getModel, listModels } from "./models.ts";
import { getStatus } from "./status.ts";

export type Route = {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  handle: Handler;
};

/** What is no model below `/models`. */
export const modelLists: ReadonlyMap<string, Handler> = new Map([
  ["traits", getModelTraits],
  ["compatibility_mapping", getModelCompatibility],
]);
const idOf = (context: GatewayContext): string => context.req.param("id") ?? "";

/** The inference API lives under both prefixes, and is the same under both. */
const prefixes = ["/api/v1", "/v1"] as const;

const underBothPrefixes: readonly Route[] = [
  ...inferenceRoutes.map((route): Route => ({ method: "POST", path: route.path, handle: handleInference(route) })),
  { method: "GET", path: "/models", handle: listModels },
  { method: "GET", path: "/image/styles", handle: getImageStyles },
  // A model's id may have a slash in it. With paths of their own for the two lists the router would be a slower one.
  { method: "GET", path: "/models/:id{.+}", handle: (context) => (modelLists.get(idOf(context)) ?? getModel)(context) },
];

/** Every route there is. */
export const routes: readonly Route[] = [
  ...prefixes.flatMap((prefix) => underBothPrefixes.map((route) => ({ ...route, path: `${prefix}${route.path}` }))),
  { method: "POST", path: "/auth", handle: postAuth },
  { method: "DELETE", path: "/auth", handle: deleteAuth },
  { method: "GET", path: "/auth/nonce", handle: getNonce },
  { method: "POST", path: "/api/v1/keys", handle: postKey },
  { method: "GET", path: "/api/v1/keys", handle: listKeys },
  { method: "POST", path: "/api/v1/keys/:id/roll", handle: postRoll },
  { method: "POST", path: "/api/v1/keys/:id/limit", handle: postLimit },
  { method: "PATCH", path: "/api/v1/keys/:id", handle: patchKey },
  { method: "DELETE", path: "/api/v1/keys/:id", handle: deleteKey },
  { method: "GET", path: "/api/v1/key", handle: getKey },
  { method: "GET", path: "/api/v1/credits", handle: getCredits },
  { method: "GET", path: "/api/v1/generation", handle: getGeneration },
  { method: "GET", path: "/api/v1/activity", handle: getActivity },
  { method: "GET", path: "/api/v1/status", handle: getStatus },
  { method: "GET", path: "/api/v1/contracts", handle: getContracts },
  { method: "GET", path: "/healthz", handle: getHealth },
  { method: "GET", path: "/metrics", handle: getMetrics },
  { method: "GET", path: "/", handle: getRoot },
  { method: "GET", path: "/openapi.json", handle: getOpenApi },
  { method: "GET", path: "/docs", handle: getDocs },
  { method: "GET", path: "/llms.txt", handle: getLlmsText },
];
