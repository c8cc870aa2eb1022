import { makeRequestId } from "@inference/protocol/id";
import { RECEIPT_HEADER } from "@inference/protocol/signed-receipt";
import type { Gateway } from "../gateway.ts";
import type { Trace, TraceContext } from "../tracing.ts";
import type { GatewayContext, Handler } from "./context.ts";
import { errorResponse } from "./errors.ts";
import { BALANCE_HEADER } from "./money.ts";

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

/** Version 00, and neither id zero. The header of a later version is not passed on. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_STATE_CHARACTERS = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * The place in a trace that a client's headers name; null if they name none that is well formed. The headers go to the
 * provider, so they are checked character by character. A malformed `tracestate` alone is left out.
 */
function readTraceContext(header: (name: string) => string | undefined): TraceContext | null {
  const traceparent = header("traceparent");
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return null;
  const state = header("tracestate");
  return { traceparent, tracestate: state !== undefined && isState(state) ? state : null };
}

function isState(state: string): boolean {
  if (state.length > MAX_STATE_CHARACTERS) return false;
  const members = state.split(",").map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ""));
  return members.length <= MAX_STATE_MEMBERS && members.every((member) => STATE_MEMBER.test(member));
}

/**
 * The client's network: of the last address in the proxy's header, or of the peer if there is no proxy or no address in
 * its header. Undefined if it is unknown.
 */
function clientName(context: GatewayContext, header: string | null): string | undefined {
  const written = header === null ? undefined : context.req.header(header)?.split(",").at(-1)?.trim();
  const network = written === undefined ? undefined : networkOf(written);
  return network ?? networkOf(context.env?.peerAddress ?? "");
}

/**
 * The name under which an address counts, with or without a port: an IPv4 address itself, of an IPv6 address its
 * 64-bit network, because one client has all of it. Undefined for text that is no address.
 */
export function networkOf(text: string): string | undefined {
  const v4 = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/.exec(text)?.[1];
  if (v4 !== undefined) return v4;
  // A port may follow the brackets. A zone (`%eth0`) is local to a machine.
  const bare = (/^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text).replace(/%.*$/, "");
  const url = `http://[${bare}]/`;
  if (!/^[\da-f:.]+$/i.test(bare) || !URL.canParse(url)) return undefined;
  const groups = groupsOf(new URL(url).hostname.slice(1, -1));
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return isMapped ? groups.slice(6).flatMap(bytesOf).join(".") : groups.slice(0, 4).join(":");
}

/**
 * All eight groups of an IPv6 address in the short form that URLs use: lower case, `::` for the longest run of zeros.
 */
function groupsOf(address: string): string[] {
  const [first = [], last = []] = address.split("::").map((part) => (part === "" ? [] : part.split(":")));
  return [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
}

function bytesOf(group: string): number[] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
