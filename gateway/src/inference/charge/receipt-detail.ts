import type { Tally } from "@inference/ledger/commands";
import type { TokenUsage } from "../../pricing/quote.ts";
import type { InferenceRoute } from "../inference-route.ts";
import type { Order } from "../requests/order.ts";
import type { Conclusion, Ending } from "./conclusion.ts";

/** The detail of a hold, so that another process can settle it. Its receipt repeats it. */
export type AnswerDetail = { route: string; model: string; snapshot: string; stream: boolean };

/** The detail of a receipt, beside its amounts. */
export type ReceiptDetail = AnswerDetail & {
  basis: Conclusion["basis"] | "record" | "checkpoint";
  usage: TokenUsage | null;
  upstreamId: string | null;
  cancelled: boolean;
  why: string | null;
};

export function holdDetail(route: InferenceRoute, { model, quote, stream }: Order): AnswerDetail {
  return { route: route.name, model: model.id, snapshot: quote.snapshotId, stream };
}

/** @param upstreamId The provider's id of the answer; null if it is unknown. */
export function receiptDetail(
  { route, order, upstreamId }: ReceiptSubject,
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
  };
}

/** What a receipt tells of its call. */
type ReceiptSubject = { route: InferenceRoute; order: Order; upstreamId: string | null };

function whyOf(ending: Ending): string | null {
  if (ending.kind === "nothing") return ending.why;
  if (ending.delivered.isBlocked === true) return "blocked by the provider";
  return ending.givenUp ? "the answer was not read to its end" : null;
}

/** What a receipt adds to the totals of its day. */
export function tallyOf({ model, usage }: ReceiptDetail): Tally {
  return { model, promptTokens: usage?.promptTokens ?? 0, completionTokens: usage?.completionTokens ?? 0 };
}
