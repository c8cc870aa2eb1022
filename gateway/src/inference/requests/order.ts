import type { UsedModel } from "@inference/ledger/commands";
import type { Model, PriceSnapshot } from "@inference/protocol/model";
import type { Aliases } from "../../catalogue/aliases.ts";
import type { HoldTerms, Quote, QuoteTerms } from "../../pricing/quote.ts";
import type { ReasoningSeal } from "../answer/reasoning-seal.ts";
import type { AnswerFormat } from "../stream/answer-writer.ts";
import type { ResponsesEcho } from "../stream/responses-writer.ts";
import type { LoweredTools } from "./responses-tools.ts";

type OrderFields = {
  /** The path below the provider's base URL. The endpoint's `parse` names it, never the client. */
  upstreamPath: string;
  /** The `Content-Type` of the body; JSON if absent. */
  upstreamType?: string;
  model: Model;
  /** The answer is an event stream. */
  stream: boolean;
  /** The client gets the text of the answer's JSON alone, or the answer's bytes in the JSON of OpenAI's images. */
  answerAs?: "text" | "base64";
  /** The client asked for the usage chunk of a stream. */
  includeUsage?: boolean;
  /** Names of harmless fields that were dropped; shown in `x-ignored-parameters`. */
  ignored: readonly string[];
  /** It waits a few seconds for budgets that only requests in flight have taken. */
  waitsForBudget?: boolean;
  /** Headers of the answer that say how the request was read. */
  headers?: Readonly<Record<string, string>>;
};

/** A request that was parsed and checked, without functions: one thread can send it to another. */
export type ParsedOrder = OrderFields & {
  /** The body to send, written anew from what was parsed. */
  upstreamBody: Uint8Array;
  terms: QuoteTerms;
  /** The API that decides the answer's shape; absent for an answer that passes unchanged. */
  answerApi?: AnswerApi;
  /** The client set no output limit: the gateway may choose a smaller one, of at least so many tokens. */
  leastTokens?: number;
  /** The same request for the next model. */
  fallback?: ChatOrder;
};

/** A chat order. The output limit is the last member of its body. */
export type ChatOrder = ParsedOrder & { terms: Extract<QuoteTerms, { kind: "text" }> };

type AnswerApi = { name: "messages" } | { name: "responses"; tools: LoweredTools; echo: ResponsesEcho };

/** A request that was parsed, checked and priced. Nothing else of the client's body is kept. */
export type Order = OrderFields & {
  quote: Quote;
  /** The writer for the shape of another API; absent for an answer that passes unchanged. */
  format?: AnswerFormat;
  /** The same request for the next model, which is tried if this one cannot serve it. */
  fallback?: WrittenOrder;
  /** The terms of the hold, which covers each of its models: those of the quote if there is one. */
  hold: HoldTerms;
  /** The models that could not serve the request, in order. */
  tried?: readonly TriedModel[];
};

/** A model that could not serve a request, and in a few words why. */
export type TriedModel = { model: string; why: string };

/** An order, with the body to send. */
export type WrittenOrder = Order & {
  upstreamBody: Uint8Array;
  /** The client set no output limit: how else the order may be written. */
  limitChoice?: LimitChoice;
};

/** An output limit that the gateway may choose. */
type LimitChoice = {
  /** A smaller one is not worth a request. */
  leastTokens: number;
  /** The order with a smaller output limit. */
  rewrite(maxTokens: number): WrittenOrder;
};

/** The most tokens that a request can use, and the models that may serve it: what a key's terms ask of it. */
export function usedTerms(order: Order): { tokens: number; models: UsedModel[] } {
  return {
    tokens: tokensOf(mostTokens(order).quote),
    models: ordersOf(order).map(({ model }) => ({ id: model.id, isPrivate: model.features.privacy === "private" })),
  };
}

/** The order of the model with which the request can use the most tokens. */
export function mostTokens(order: Order): Order {
  return ordersOf(order).reduce((one, other) => (tokensOf(other.quote) > tokensOf(one.quote) ? other : one));
}

function tokensOf({ bound }: Quote): number {
  return (bound?.promptTokens ?? 0) + (bound?.completionTokens ?? 0);
}

/** The order once its model answers: the bodies for the others are not kept while a stream goes on. */
export function withoutFallback(order: Order): Order {
  if (order.fallback === undefined) return order;
  const { fallback: _, ...answering } = order;
  return answering;
}

/** A request's orders, one for each model that may serve it. */
export function ordersOf<O extends Order>(order: O): (O | WrittenOrder)[] {
  const orders: (O | WrittenOrder)[] = [];
  for (let next: O | WrittenOrder | undefined = order; next !== undefined; next = next.fallback) orders.push(next);
  return orders;
}

/** Writes a body to send. */
export function writeBody(fields: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(fields));
}

/** The other parts of an order, besides the client's body. */
export type OrderContext = {
  snapshot: PriceSnapshot;
  /** They take precedence over ids. */
  aliases: Aliases;
  /**
   * The account's pseudonym, sent as `user` if the endpoint has that field: the provider can then block one customer
   * without the others.
   */
  user: string;
  /** The partition of the account or identity. */
  account: string;
  /** Opens the reasoning of earlier answers. */
  reasoningSeal: ReasoningSeal;
  /** The output limit of a Responses request that has none. */
  defaultOutputTokens: number;
  /**
   * The operator's fields for every chat body, such as those that switch hidden prompts off. They win over the
   * client's.
   */
  chatExtras: Readonly<Record<string, unknown>>;
  /** The provider's name for the output limit; `max_completion_tokens` if the operator did not set it. */
  chatOutputField?: "max_tokens" | "max_completion_tokens";
};
