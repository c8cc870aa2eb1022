import type { OfferName, Tally } from "@inference/ledger/commands";
import type { TokenUsage } from "../pricing/quote.ts";
import type { Conclusion, Ending } from "./conclusion.ts";
import type { InferenceRoute } from "./inference-route.ts";
import type { Order } from "./requests/order.ts";

/** The detail of a hold, so that another process can settle it. Its receipt repeats it. */
export type AnswerDetail = { route: string; model: string; snapshot: string; stream: boolean };

/** The detail of a receipt, beside its amounts. */
export type ReceiptDetail = AnswerDetail & {
  basis: Conclusion["basis"] | "record" | "checkpoint";
  usage: TokenUsage | null;
  upstreamId: string | null;
  cancelled: boolean;
  why: string | null;
} & ServedBy;

/** `protocol`, or an agent's token and the hash of its offer; null if an identity spent its own capacity. */
export type ServedBy = { servedBy: string | null; offer: string | null };

export function holdDetail(route: InferenceRoute, { model, quote, stream }: Order): AnswerDetail {
  return { route: route.name, model: model.id, snapshot: quote.snapshotId, stream };
}

/** @param upstreamId The provider's id of the answer; null if it is unknown. */
export function receiptDetail(
  { route, order, upstreamId, server, spender }: ReceiptSubject,
  ending: Ending,
  { basis }: Conclusion,
): ReceiptDetail {
  return {
    ...holdDetail(route, order),
    basis,
    usage: ending.kind === "answer" && typeof ending.usage === "object" ? ending.usage : null,
    upstreamId,
    cancelled: ending.kind === "answer" && ending.clientGone,
    why: whyOf(ending),
    ...servedBy(server?.agent ?? null, server?.offer ?? null, spender === null),
  };
}

/** Of a prepaid request without an agent it is the protocol. */
export function servedBy(agent: string | null, offer: string | null, isPrepaid: boolean): ServedBy {
  return { servedBy: agent ?? (isPrepaid ? "protocol" : null), offer };
}

/** What a receipt tells of its call. */
type ReceiptSubject = {
  route: InferenceRoute;
  order: Order;
  upstreamId: string | null;
  server: OfferName | null;
  spender: unknown;
};

function whyOf(ending: Ending): string | null {
  if (ending.kind === "nothing") return ending.why;
  if (ending.delivered.isBlocked === true) return "blocked by the provider";
  return ending.givenUp ? "the answer was not read to its end" : null;
}

/** What a receipt adds to the totals of its day. */
export function tallyOf({ model, usage }: ReceiptDetail): Tally {
  return { model, promptTokens: usage?.promptTokens ?? 0, completionTokens: usage?.completionTokens ?? 0 };
}
