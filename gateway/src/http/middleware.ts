import { makeRequestId } from "@inference/protocol/id";
import type { MiddlewareHandler } from "hono";
import type { Gateway } from "../gateway.ts";
import type { GatewayEnv } from "./context.ts";

const EXPOSED = "x-request-id, retry-after, x-should-retry, x-ignored-parameters, idempotent-replayed";

/**
 * Gives every request its time and its id, and every response the id and the CORS headers, errors included. Any origin
 * may call, without cookies.
 */
export function everyRequest(gateway: Gateway): MiddlewareHandler<GatewayEnv> {
  const { clock, random } = gateway.environment;
  return async function everyRequest(context, next) {
    const at = clock.now();
    const requestId = makeRequestId(at, random.bytes(10));
    context.set("gateway", gateway);
    context.set("at", at);
    context.set("requestId", requestId);
    if (context.req.method === "OPTIONS") {
      context.res = preflight(context.req.header("access-control-request-headers"));
    } else await next();
    const { headers } = context.res;
    headers.set("x-request-id", requestId);
    headers.set("access-control-allow-origin", "*");
    headers.set("access-control-expose-headers", EXPOSED);
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  };
}

function preflight(requestedHeaders: string | undefined): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
      "access-control-allow-headers": requestedHeaders ?? "authorization, content-type",
      "access-control-max-age": "7200",
      vary: "access-control-request-headers",
    },
  });
}
