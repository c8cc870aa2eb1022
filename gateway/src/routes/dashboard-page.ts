import { fail } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";
import { rootAnswer } from "@inference/protocol/wire/answers";
import type { GatewayConfig } from "../config.ts";
import { apiInfo } from "../docs/openapi.ts";
import { json, ok } from "../docs/operation.ts";
import type { DashboardFiles } from "../environment.ts";
import { sendConstant } from "../http/constant-text.ts";
import type { GatewayContext } from "../http/context.ts";
import { queryOf } from "../http/query.ts";
import { endpoint } from "./endpoint.ts";

export const getRoot = endpoint({
  path: "/",
  id: "getRoot",
  group: "Documentation",
  title: "Where the documentation is",
  about: "A browser, which accepts `text/html`, gets the dashboard instead if the gateway has it.",
  answers: [ok("Addresses, or the page.", { ...json("RootAnswer", rootAnswer), "text/html": null })],
  handle(context) {
    context.header("vary", "accept");
    const page = dashboardAt(context);
    if (page !== undefined) return page;
    const { baseUrl } = context.get("gateway").config;
    const paths = { docs: "/docs", openapi: "/openapi.json", llms: "/llms.txt", models: "/api/v1/models" };
    const links = Object.entries({ ...paths, status: "/api/v1/status" }).map(([name, path]) => [name, baseUrl + path]);
    return context.json({ name: apiInfo.title, version: apiInfo.version, ...Object.fromEntries(links) });
  },
});

export const getAsset = endpoint({
  path: "/assets/{name}",
  id: "getAsset",
  group: "Documentation",
  title: "A file of the dashboard",
  pathParameters: { name: "As the page at `/` names it, with a hash of the content in it." },
  answers: [ok("The file, which never changes.", { "text/javascript": null, "text/css": null, "image/svg+xml": null })],
  errors: ["not_found"],
  handle(context) {
    const { dashboard } = context.get("gateway").environment;
    const name = context.req.param("name") ?? "";
    const { assets = {} } = dashboard ?? {};
    const asset = ownValue(assets, name);
    if (asset === undefined) return fail("not_found", "The dashboard has no such file: open / again.");
    return sendConstant(context, asset, {
      "content-type": `${asset.type}; charset=utf-8`,
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
  },
});

/** The dashboard's places, beside `/`. A place may have more path: `/models/{id}`. */
const PLACES = "chat|models|keys|activity|funds|agents|verify|status|settings|login";
const AT_PLACE = new RegExp(`^/(?:${PLACES})(?:/|$)`);
/** Below these paths an answer is never a page. */
const OF_PROGRAMS = /^\/(?:api|v1|assets|auth)(?:\/|$)/;

/**
 * The dashboard for a browser that asks for a path without an endpoint: 200 at a place of the dashboard, else 404.
 * Undefined: the request is not a browser's, or this gateway has no dashboard.
 */
export function dashboardAt(context: GatewayContext): Response | undefined {
  const { dashboard } = context.get("gateway").environment;
  const { path, method } = context.req;
  if (dashboard === undefined || (method !== "GET" && method !== "HEAD") || OF_PROGRAMS.test(path)) return undefined;
  context.header("vary", "accept");
  if (!isBrowser(context)) return undefined;
  return dashboardPage(context, dashboard, path === "/" || AT_PLACE.test(path) ? 200 : 404);
}

function isBrowser(context: GatewayContext): boolean {
  return /\btext\/html\b/i.test(context.req.header("accept") ?? "");
}

/** The page, with what it may load and reach: its own files, this gateway, the operator's logo, the chains' nodes. */
function dashboardPage(context: GatewayContext, { page }: DashboardFiles, status: 200 | 404): Response {
  const { config } = context.get("gateway");
  const own = originOf(queryOf(context).node);
  const nodes = [...nodesOf(config), ...(own === undefined ? [] : [own])];
  return context.html(page, status, {
    "cache-control": "no-cache",
    "content-security-policy": pagePolicy(config, nodes),
    "cross-origin-opener-policy": "same-origin-allow-popups",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
}

/** The public nodes that the operator names: the page reads chains from there. */
function nodesOf({ chains }: GatewayConfig): string[] {
  return chains.flatMap(({ rpcUrl }) => originOf(rpcUrl) ?? []);
}

/**
 * A reader may check the books with a node of their own, which `?node=` names. The policy allows it for this page alone.
 * A host with other characters, which URLs may have, would be a wildcard there or begin a directive of its own.
 */
function originOf(url: string | null | undefined): string | undefined {
  const { protocol, origin, host } = URL.parse(url ?? "") ?? {};
  return (protocol === "https:" || protocol === "http:") && /^[\w.:[\]-]+$/.test(host ?? "") ? origin : undefined;
}

/** The hosts that a page may load from and call: the gateway, the operator's logo, and these nodes. */
export function pagePolicy({ operator }: GatewayConfig, nodes: readonly string[] = []): string {
  const logo = originOf(operator.service.logoUrl);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Wallets announce their icons as `data:`.
    `img-src ${["'self'", "data:", ...(logo === undefined ? [] : [logo])].join(" ")}`,
    `connect-src ${["'self'", ...new Set(nodes)].join(" ")}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
