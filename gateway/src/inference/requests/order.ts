import type { Model } from "@inference/protocol/model";
import type { Quote } from "../../pricing/quote.ts";
import type { AnswerFormat } from "../stream/answer-writer.ts";
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
  /** The answer is written in the shape of another API; absent for an answer that passes as it comes. */
  format?: AnswerFormat;
  /** It waits a few seconds for budgets that only requests in flight have taken. */
  waitsForBudget?: boolean;
  /** Headers of the answer that say how the request was read. */
  headers?: Readonly<Record<string, string>>;
};

/** An order, with the body to send: JSON, written anew from what was parsed, except for unchanged messages. */
export type WrittenOrder = Order & {
  upstreamBody: WrittenBody;
  /** The client set no output limit: how else the order may be written. */
  limitChoice?: LimitChoice;
};

/** An output limit that the gateway may choose. */
export type LimitChoice = {
  /** A smaller one is not worth a request. */
  leastTokens: number;
  /** The order with another output limit. */
  rewrite(maxTokens: number): Generator<void, WrittenOrder>;
};
