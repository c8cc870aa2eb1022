import type { GatewayConfig } from "../config.ts";
import type { DashboardFiles } from "../environment.ts";
import type { GatewayContext } from "../http/context.ts";
import { queryOf } from "../http/query.ts";

/** The page, with what it may load and reach: its own files, this gateway, and the nodes of the chains. */
export function dashboardPage(context: GatewayContext, { page }: DashboardFiles): Response {
  const own = originOf(queryOf(context).node);
  const nodes = [...nodesOf(context.get("gateway").config), ...(own === undefined ? [] : [own])];
  return context.html(page, 200, {
    "cache-control": "no-cache",
    "content-security-policy": policy(nodes),
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

function policy(nodes: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Wallets announce their icons as `data:`.
    "img-src 'self' data:",
    `connect-src ${["'self'", ...new Set(nodes)].join(" ")}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
