import { makeRequestId } from "@inference/protocol/id";
import { RECEIPT_HEADER } from "@inference/protocol/signed-receipt";
import type { Gateway } from "../gateway.ts";
import type { Trace } from "../tracing.ts";
import { clientName } from "./client-address.ts";
import type { GatewayContext, Handler } from "./context.ts";
import { errorResponse } from "./errors.ts";
import { BALANCE_HEADER } from "./money.ts";
import { readTraceContext } from "./trace-context.ts";

const EXPOSED =
  `x-request-id, ${RECEIPT_HEADER}, ${BALANCE_HEADER}, retry-after, x-should-retry, request-id, x-ignored-parameters, ` +
  "x-max-output-tokens, x-voice, idempotent-replayed, x-next-cursor, PAYMENT-REQUIRED, PAYMENT-RESPONSE";

/**
 * Gives every request its time and id, and every response, errors included, the id and the CORS headers. Counts
 * requests, and limits those of one address. Any origin may call, without cookies.
 */
export function everyRequest(gateway: Gateway): (handle: Handler) => Handler {
  const { clock, random } = gateway.environment;
  const elsewhere = gateway.metrics.route("elsewhere");
  return (handle) =>
    async function everyRequest(context) {
      const at = clock.now();
      context.set("gateway", gateway);
      context.set("at", at);
      context.set("requestId", makeRequestId(at, random.bytes(10)));
      context.set("route", elsewhere);
      const trace = traceOf(context);
      context.set("trace", trace);
      let response: Response;
      if (context.req.method === "OPTIONS") {
        response = preflight(context.req.header("access-control-request-headers"));
      } else {
        const held = gateway.bodyMemory.open();
        context.set("held", held);
        try {
          admitAddress(context);
          response = await handle(context);
        } catch (error) {
          response = errorResponse(context, error);
        } finally {
          held.release();
        }
      }
      const waitedMs = context.env?.waitedMs ?? 0;
      gateway.metrics.answered(context.get("route"), response.status, waitedMs + clock.now() - at);
      if (gateway.accessLog !== null || trace.span !== null) {
        const id = context.get("requestId");
        const code = context.get("code") ?? null;
        const answer = { route: context.get("route").name, status: response.status, code };
        gateway.accessLog?.answered(id, { at, ...answer });
        trace.span?.answered({ id, ...answer });
      }
      if (context.get("hasCommonHeaders") === true) return response;
      const { headers } = response;
      for (const [name, value] of Object.entries(commonHeaders(context.get("requestId")))) {
        if (name !== "cache-control" || !headers.has(name)) headers.set(name, value);
      }
      return response;
    };
}

function traceOf(context: GatewayContext): Trace {
  const { tracing } = context.get("gateway").environment;
  const parent = readTraceContext((name) => context.req.header(name));
  return { parent, span: tracing?.begin({ at: context.get("at"), method: context.req.method, parent }) ?? null };
}

/** Throws 429 `rate_limited`. There is no limit if the client's address is unknown. */
function admitAddress(context: GatewayContext): void {
  const { rates, config } = context.get("gateway");
  const client = clientName(context, config.operator.addressHeader);
  context.set("client", client);
  if (client !== undefined) rates.address.admit(client, context.get("at"));
}

/**
 * The headers of every response. A handler that has set them itself sets `hasCommonHeaders`, because reading the
 * headers of a finished response costs more than the rest of this file.
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
