import type { ErrorCode } from "@inference/protocol/errors";
import type { Context } from "hono";
import type { VerifiedCredential } from "../auth/credentials.ts";
import type { Gateway } from "../gateway.ts";
import type { BodyShare } from "../load/body-memory.ts";
import type { RouteMetrics } from "../operator/metrics.ts";
import type { Trace } from "../tracing.ts";
import type { OpenOutlet } from "./outlet.ts";

/** The variables of every handler. Hot code reads them with `get`, because `var` creates an object each time. */
export type GatewayEnv = {
  Bindings: HostBindings;
  Variables: {
    gateway: Gateway;
    /** The request id: the `x-request-id` header, and the id of the receipt. */
    requestId: string;
    /** The credential that was sent, if its checksum is valid. */
    credential?: VerifiedCredential;
    /** The client's network, see `client-address.ts`; undefined if it is unknown. */
    client: string | undefined;
    /** When the request arrived. All its parts use this time. */
    at: number;
    /** The request's part of the memory for bodies. */
    held: BodyShare;
    /** The response was made with `commonHeaders`. */
    hasCommonHeaders?: boolean;
    /** The header of x402 in an answer to a paid request, and in an error that asks for a payment. */
    paymentResponse?: string;
    paymentRequired?: string;
    /** The error that it was answered with. */
    code?: ErrorCode;
    trace: Trace;
    /** Where the request is counted. */
    route: RouteMetrics;
  };
};

/** The host's additions to a request. */
export type HostBindings = {
  /** The address at the other end of the connection. */
  peerAddress?: string | undefined;
  /** The request's target in its original form, if the host knows it. A URL no longer has its dot segments. */
  target?: string | undefined;
  /** How long the request has waited on the host before it began. */
  waitedMs?: number | undefined;
  /**
   * Calls back once, after it has returned, when the host has released the response: the operating system has its last
   * byte, or the connection closed. Absent if the host cannot know.
   */
  whenSent?: ((callback: () => void) => void) | undefined;
  /** Begins a response whose bytes are sent while they arrive. Absent on a host where a web stream costs no more. */
  openOutlet?: OpenOutlet | undefined;
};
/** The gateway as an HTTP service. */
export type App = { fetch(request: Request, host?: HostBindings): Response | Promise<Response> };
export type GatewayContext = Context<GatewayEnv>;
export type Handler = (context: GatewayContext) => Response | Promise<Response>;
