import type { VerifiedCredential } from "../auth/credentials.ts";
import type { WhenSent } from "../limits/held-answers.ts";
import type { HeldBody } from "../limits/held-bodies.ts";
import type { InferenceRoute } from "./inference-route.ts";
import type { LongTexts } from "./requests/long-text.ts";
import type { OpenOutlet } from "./stream/outlet.ts";

/**
 * A parsed body. `texts` is null for a small one, see `read-large-json.ts`. `messages` are the bytes of its messages if
 * they may be sent as they came, see `parse-json-body.ts`.
 */
export type RequestBody = { value: unknown; texts: LongTexts | null; messages: Uint8Array | null };

/** An authenticated request. */
export type InferenceRequest = {
  id: string;
  at: number;
  route: InferenceRoute;
  credential: VerifiedCredential;
  /** The client's network, see `client-address.ts`; undefined if it is unknown. */
  client: string | undefined;
  /** Reads and parses the body. Call it once: the request does not keep a body, which may be large. */
  readBody(): Promise<RequestBody>;
  /** The request's part of the memory for bodies. */
  held: HeldBody;
  /** The `Idempotency-Key`; null if there is none. */
  idempotencyKey: string | null;
  /** Aborted when the client leaves. */
  clientGone: AbortSignal | null;
  /** Undefined if the host cannot know. */
  whenSent: WhenSent | undefined;
  /** Begins an answer that is sent as it comes. */
  openOutlet: OpenOutlet;
  /** The same request with a new id, for another try: the ledger serves an id once. */
  renewed(): InferenceRequest;
  /** The headers that every response has. */
  headers: Readonly<Record<string, string>>;
};
