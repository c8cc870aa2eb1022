import type { Context } from "hono";
import type { Gateway } from "../gateway.ts";
import type { HeldBody } from "./held-bodies.ts";

/** What every handler finds in its context. */
export type GatewayEnv = {
  Variables: {
    gateway: Gateway;
    /** Our id of the request: the `x-request-id` header, and the id of its receipt. */
    requestId: string;
    /** The request's one time. */
    at: number;
    /** What the request's body takes of the memory for all of them. */
    held: HeldBody;
    /** The response was made with `commonHeaders`. */
    hasCommonHeaders?: boolean;
  };
};
export type GatewayContext = Context<GatewayEnv>;
