import type { Context } from "hono";
import type { VerifiedCredential } from "../auth/credentials.ts";
import type { Gateway } from "../gateway.ts";
import type { HeldBody } from "../limits/held-bodies.ts";
import type { RouteMetrics } from "../operator/metrics.ts";

/** What every handler finds in its context: by `get` where it is hot, for `var` makes an object of it each time. */
export type GatewayEnv = {
  Bindings: HostBindings;
  Variables: {
    gateway: Gateway;
    /** Our id of the request: the `x-request-id` header, and the id of its receipt. */
    requestId: string;
    /** The credential that was sent, if it is one of ours. */
    credential?: VerifiedCredential;
    /** Who it comes from, as its address tells, see `client-address.ts`; undefined where nobody knows. */
    client: string | undefined;
    /** The request's one time. */
    at: number;
    /** What the request's body takes of the memory for all of them. */
    held: HeldBody;
    /** The response was made with `commonHeaders`. */
    hasCommonHeaders?: boolean;
    /** Where the request is counted. */
    route: RouteMetrics;
  };
};

/** What a host says of a request, beside the request. */
export type HostBindings = {
  /** The address at the other end of the connection. */
  peerAddress?: string | undefined;
  /** The request's target as it was sent, where the host knows it: a URL has lost its dot segments. */
  target?: string | undefined;
  /**
   * Calls back once, and later than it returns, when the host keeps nothing of the response any more: the operating
   * system has its last byte, or its connection closed before that. Absent where the host cannot know.
   */
  whenSent?: ((callback: () => void) => void) | undefined;
  /** Ends the connection at once, so that a response that broke off is not taken for a whole one. */
  breakOff?: (() => void) | undefined;
};
export type GatewayContext = Context<GatewayEnv>;
export type Handler = (context: GatewayContext) => Response | Promise<Response>;
