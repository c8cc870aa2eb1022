import type { VerifiedCredential } from "../auth/credentials.ts";
import type { HeldBody } from "../limits/held-bodies.ts";
import type { LongTexts } from "./requests/long-text.ts";
import type { InferenceRoute } from "./routes.ts";

/** A request's body, parsed; `value` is null once it was read into an order, for it may be large. */
export type RequestBody = { value: unknown; texts: LongTexts | null };

/** An authenticated request whose body was read and parsed as JSON, and not looked at yet. */
export type InferenceRequest = {
  id: string;
  at: number;
  route: InferenceRoute;
  credential: VerifiedCredential;
  /** Who it comes from, as far as an address tells. */
  client: string | undefined;
  body: RequestBody;
  /** What it takes of the memory for all of them. */
  held: HeldBody;
  /** The client's name for the request, under which it is served once. */
  idempotencyKey: string | null;
  /** Aborted when the client goes. */
  clientGone: AbortSignal | null;
  /** Calls back once the whole response has left, or its connection is gone. Undefined where the host cannot tell. */
  whenSent: ((callback: () => void) => void) | undefined;
  /** Ends the connection at once. Undefined where a failed stream is enough for that. */
  breakOff: (() => void) | undefined;
  /** For the answer, beside its own. */
  headers: Readonly<Record<string, string>>;
};
