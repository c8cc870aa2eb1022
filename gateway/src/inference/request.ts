import type { VerifiedCredential } from "../auth/credentials.ts";
import type { OpenOutlet } from "../http/outlet.ts";
import type { WhenSent } from "../load/answer-memory.ts";
import type { BodyShare } from "../load/body-memory.ts";
import type { PaidRequest } from "../top-up/paid-request.ts";
import type { Trace } from "../tracing.ts";
import type { BodyParser } from "./requests/body-job.ts";
import type { ParsedOrder } from "./requests/order.ts";
import type { ElementKind } from "./stream/json-elements.ts";

/** An authenticated request. */
export type InferenceRequest = {
  id: string;
  at: number;
  route: InferenceRoute;
  credential: VerifiedCredential;
  /** The client's network, see `client-address.ts`; undefined if it is unknown. */
  client: string | undefined;
  /** Reads the body. Call it once: the request does not keep a body, which may be large. */
  readBody(): Promise<readonly Uint8Array[]>;
  /** The `Content-Type` of a body that is a form. */
  formType?: string | undefined;
  /** The request's part of the memory for bodies. */
  held: BodyShare;
  /** The `Idempotency-Key`; null if there is none. */
  idempotencyKey: string | null;
  /** Its x402 payment; null: a credential pays. */
  paid: PaidRequest | null;
  /** The tag that groups its spending; undefined if it has none. */
  tag: string | undefined;
  /** The names of ignored headers, for `x-ignored-parameters`. */
  ignoredHeaders: readonly string[];
  /** Aborted when the client leaves. */
  clientGone: AbortSignal | null;
  /** Undefined if the host cannot know. */
  whenSent: WhenSent | undefined;
  trace: Trace;
  /** Begins an answer whose bytes are sent while they arrive. */
  openOutlet: OpenOutlet;
  /** The same request with a new id, for another try: the ledger serves an id once. */
  renewed(): InferenceRequest;
  /** The headers that every response has. */
  headers: Readonly<Record<string, string>>;
};

/** The parts of a metered endpoint that the request path needs. */
export type InferenceRoute = BodyParser<ParsedOrder> & {
  /** The endpoint's name in holds, receipts and idempotency keys. It is stored: never change it. */
  name: string;
  /** The answer's bytes go to the client as they come, whatever the request said. */
  passesThrough: boolean;
  /** The list or text in a whole JSON answer that was asked for; null where answers are bytes only. */
  content: { field: "choices" | "data" | "images" | "text"; elements: ElementKind } | null;
  /** The fields of a whole JSON answer that a client gets to see. */
  answerFields: readonly string[];
};
