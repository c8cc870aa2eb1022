import { LedgerUnavailable } from "@inference/ledger/client";
import { GatewayError } from "@inference/protocol/errors";
import { formatUsd } from "@inference/protocol/money";
import { UpstreamFailure } from "../environment.ts";
import { nothingDelivered } from "../pricing/quote.ts";
import { nothingReported } from "../pricing/usage.ts";
import type { Call } from "./call.ts";
import { answerKind, type Conclusion, type Ending } from "./conclusion.ts";
import type { InferenceRequest } from "./request.ts";
import { BrokenAnswer, UnusableAnswer } from "./stream/unusable-answer.ts";

/** How a forwarded request ended of which nothing was sent to its client. */
export function failureEnding(error: unknown, call: Call, request: InferenceRequest): Ending {
  const as = answerKind(call.route, call.order);
  const why = String(error);
  if (error instanceof UnusableAnswer) {
    return { kind: "nothing", why, ...error.reported, mayBill: error.mayBill ? as : null };
  }
  // The provider had answered when the ledger failed.
  if (error instanceof LedgerUnavailable) return { kind: "nothing", why, ...nothingReported, mayBill: as };
  if (!(error instanceof UpstreamFailure) || error.stage === "not_sent") {
    return { kind: "nothing", why, ...nothingReported, mayBill: null };
  }
  const reported = error instanceof BrokenAnswer ? error.reported : nothingReported;
  const clientGone = request.clientGone?.aborted ?? false;
  const isWalkedAwayFrom = call.isAborted || (clientGone && error.stage === "body");
  if (!isWalkedAwayFrom) return { kind: "nothing", why, ...reported, mayBill: as };
  const rest = { delivered: nothingDelivered, complete: false, as };
  return { kind: "answer", ...reported, ...rest, clientGone, givenUp: !clientGone };
}

/** What went wrong between us and the provider, as the client is told it. */
export function failureError(error: unknown, call: Call, { chargeNanoUsd }: Conclusion): unknown {
  if (!(error instanceof UpstreamFailure)) return error;
  if (error.stage === "not_sent") {
    const message = "The provider cannot be reached. Nothing was charged. Retry in a few seconds.";
    return new GatewayError({ code: "upstream_unavailable", message, retryAfterS: 2 });
  }
  const charged =
    chargeNanoUsd === 0
      ? "Nothing was charged."
      : `The provider may bill it, so $${formatUsd(chargeNanoUsd)} was charged: ${receiptHint(call.id)}.`;
  if (call.isAborted) {
    const given = call.whyGivenUp;
    const why = given === null ? "The provider took too long." : `${given}. The request was aborted.`;
    return new GatewayError({ code: "upstream_timeout", message: `${why} ${charged}` });
  }
  return new GatewayError({ code: "upstream_error", message: `The provider's answer broke off. ${charged}` });
}

/** Where a client finds what a request was charged. */
export function receiptHint(requestId: string): string {
  return `see GET /api/v1/generation?id=${requestId}`;
}
