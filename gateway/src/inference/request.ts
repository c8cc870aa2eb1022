import type { VerifiedCredential } from "../auth/credentials.ts";
import type { WhenSent } from "../limits/held-answers.ts";
import type { HeldBody } from "../limits/held-bodies.ts";
import type { InferenceRoute } from "./inference-route.ts";
import type { LongTexts } from "./requests/long-text.ts";

/** A request's body, parsed. `texts` are null where it is small: see `read-large-json.ts`. */
export type RequestBody = { value: unknown; texts: LongTexts | null };

/** An authenticated request. */
export type InferenceRequest = {
  id: string;
  at: number;
  route: InferenceRoute;
  credential: VerifiedCredential;
  /** Who it comes from, as far as an address tells. */
  client: string | undefined;
  /** Reads and parses its body, once: it may be large, and nobody keeps it longer than it is needed. */
  readBody(): Promise<RequestBody>;
  /** What its body takes of the memory for all of them. */
  held: HeldBody;
  /** The client's name for the request, under which it is served once. */
  idempotencyKey: string | null;
  /** Aborted when the client goes. */
  clientGone: AbortSignal | null;
  /** Undefined where the host cannot tell. */
  whenSent: WhenSent | undefined;
  /** Ends the connection at once. Undefined where a failed stream is enough for that. */
  breakOff: (() => void) | undefined;
  /** For the answer, beside its own. */
  headers: Readonly<Record<string, string>>;
};
