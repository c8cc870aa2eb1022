import { LedgerUnavailable } from "@inference/ledger/client";
import { GatewayError } from "@inference/protocol/errors";
import { formatUsd } from "@inference/protocol/money";
import { UpstreamFailure } from "../../environment.ts";
import { nothingDelivered } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";
import type { Call } from "../call.ts";
import { answerKind, type Conclusion, type Ending } from "../charge/conclusion.ts";
import type { InferenceRequest } from "../request.ts";

/** The ending of a request that failed before anything of its answer was sent. */
export function failureEnding(error: unknown, call: Call, request: InferenceRequest): Ending {
  const as = answerKind(call.route, call.order);
  const why = String(error);
  if (error instanceof UnusableAnswer) {
    return { kind: "nothing", why, ...error.reported, mayBill: error.mayBill ? "whole" : null };
  }
  // The ledger failed after the provider had answered.
  if (error instanceof LedgerUnavailable) return { kind: "nothing", why, ...nothingReported, mayBill: "whole" };
  if (!(error instanceof UpstreamFailure) || error.stage === "not_sent") {
    return { kind: "nothing", why, ...nothingReported, mayBill: null };
  }
  const reported = error instanceof BrokenAnswer ? error.reported : nothingReported;
  const clientGone = request.clientGone?.aborted ?? false;
  const isAbandoned = call.isAborted || (clientGone && error.stage === "body");
  if (!isAbandoned) return { kind: "nothing", why, ...reported, mayBill: as };
  const rest = { delivered: nothingDelivered, complete: false, as };
  return { kind: "answer", ...reported, ...rest, clientGone, givenUp: call.isAborted };
}

/** The error for the client. A failure of the provider becomes one of ours, with what was charged. */
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

/** Tells a client where it finds the charge of a request. */
export function receiptHint(requestId: string): string {
  return `see GET /api/v1/generation?id=${requestId}`;
}

/** An answer with status 200 that cannot be sent to a client. It costs the client nothing; the provider may bill it. */
export class UnusableAnswer extends GatewayError {
  readonly reported: ReportedUsage;
  /** False if the provider says that it failed: then it bills at most the usage that it reports. */
  readonly mayBill: boolean;
  /** @param what The predicate after "The provider's answer". */
  constructor(what: string, { reported = nothingReported, mayBill = true } = {}) {
    super({ code: "upstream_error", message: `The provider's answer ${what}. Nothing was charged.` });
    this.reported = reported;
    this.mayBill = mayBill;
  }
}

/** An answer that broke off before any of it was sent, with the usage that it had reported. */
export class BrokenAnswer extends UpstreamFailure {
  readonly reported: ReportedUsage;
  constructor(why: unknown, reported: ReportedUsage) {
    super("body", String(why));
    this.reported = reported;
  }
}
