import { makeRequestId } from "@inference/protocol/id";
import type { MiddlewareHandler } from "hono";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import type { GatewayEnv } from "./context.ts";
import { makeHeldBodies } from "./held-bodies.ts";

const EXPOSED = "x-request-id, retry-after, x-should-retry, x-ignored-parameters";

/**
 * Gives every request its time and its id, and every response the id and the CORS headers, errors included. Any origin
 * may call, without cookies.
 */
export function everyRequest(gateway: Gateway): MiddlewareHandler<GatewayEnv> {
  const { clock, random } = gateway.environment;
  const bodies = makeHeldBodies(limits.heldBodyBytes);
  return async function everyRequest(context, next) {
    const at = clock.now();
    const requestId = makeRequestId(at, random.bytes(10));
    context.set("gateway", gateway);
    context.set("at", at);
    context.set("requestId", requestId);
    if (context.req.method === "OPTIONS") {
      context.res = preflight(context.req.header("access-control-request-headers"));
    } else {
      const held = bodies.open();
      context.set("held", held);
      try {
        await next();
      } finally {
        held.release();
      }
    }
    if (context.get("hasCommonHeaders") === true) return;
    const { headers } = context.res;
    for (const [name, value] of Object.entries(commonHeaders(requestId))) {
      if (name !== "cache-control" || !headers.has(name)) headers.set(name, value);
    }
  };
}

/**
 * The headers of every response. A handler whose response is made with them sets `hasCommonHeaders`: looking into a
 * finished response's headers costs more than the rest of this file.
 */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    "x-request-id": requestId,
    "access-control-allow-origin": "*",
    "access-control-expose-headers": EXPOSED,
    "cache-control": "no-store",
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
