import type { Model } from "@inference/protocol/model";
import type { Quote } from "../../pricing/quote.ts";
import type { WrittenBody } from "./write-json.ts";

/** A request that was parsed, checked and priced. Nothing else of the client's body is kept. */
export type Order = {
  /** The path below the provider's base URL. The endpoint's `parse` names it, never the client. */
  upstreamPath: string;
  model: Model;
  /** The answer is an event stream. */
  stream: boolean;
  /** The client asked for the usage chunk of a stream. */
  includeUsage: boolean;
  /** Names of harmless fields that were dropped; shown in `x-ignored-parameters`. */
  ignored: readonly string[];
  quote: Quote;
  /** Headers of the answer that say how the request was read. */
  headers?: Readonly<Record<string, string>>;
};

/** An order, with the body to send: JSON, written anew from what was parsed. */
export type WrittenOrder = Order & { upstreamBody: WrittenBody };
