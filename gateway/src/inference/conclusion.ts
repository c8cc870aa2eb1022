import type { NanoUsd } from "@inference/protocol/money";
import type { Delivered, Quote } from "../metering/quote.ts";
import type { ReportedUsage, UsageReading } from "../metering/usage.ts";

/** How a request that was forwarded came to its end, and what the provider says that it used. */
export type Ending = ReportedUsage & (NothingCame | AnswerCame);

/** Nothing of value came back: not reached, refused, blocked, or an error before any content. */
type NothingCame = { kind: "nothing"; why: string };

/** An answer, whole or in part. */
type AnswerCame = {
  kind: "answer";
  delivered: Delivered;
  /** Whole answers of a kind that reports no usage, and whatever was delivered of them, cost their flat price. */
  complete: boolean;
  stream: boolean;
  clientGone: boolean;
};

/** What to charge, and on what ground. The customer never owes more than the hold; what is above is a loss of ours. */
export type Conclusion = {
  outcome: "settle" | "release";
  chargeNanoUsd: NanoUsd;
  lossNanoUsd: NanoUsd;
  basis: "nothing" | "usage" | "flat" | "delivered" | "hold";
  alert: string | null;
};

/** The settlement matrix: one row of it for every way in which a request can end. */
export function conclude(quote: Quote, ending: Ending): Conclusion {
  const conclusion = ending.kind === "nothing" ? release(quote, ending.usage) : concludeAnswer(quote, ending);
  // Where usage decides nothing, it may be of any kind.
  const isTold = conclusion.alert === null && ending.malformedUsage && quote.flatNanoUsd === null;
  return isTold ? { ...conclusion, alert: "the provider reported a usage that cannot be" } : conclusion;
}

function concludeAnswer(quote: Quote, ending: AnswerCame & ReportedUsage): Conclusion {
  const nothingDelivered = ending.delivered.bytes === 0 && ending.delivered.events === 0;
  // An answer that was to come whole, and its client has gone: the provider may bill all of it.
  const abandoned = !ending.stream && ending.clientGone;
  if (quote.flatNanoUsd !== null) {
    const isOwed = ending.complete || !nothingDelivered || ending.clientGone;
    return isOwed ? charge(quote, quote.flatNanoUsd, "flat") : release(quote, "missing");
  }
  if (typeof ending.usage === "object") return charge(quote, quote.chargeForUsage(ending.usage), "usage");
  const basis = abandoned ? "hold" : "delivered";
  const isUnread = ending.stream && ending.clientGone && nothingDelivered;
  const delivered = isUnread ? quote.chargeForPrompt() : quote.chargeForDelivered(ending.delivered);
  return charge(quote, basis === "hold" ? quote.maxNanoUsd : delivered, basis);
}

function charge(quote: Quote, amountNanoUsd: NanoUsd, basis: Conclusion["basis"]): Conclusion {
  const lossNanoUsd = Math.max(0, amountNanoUsd - quote.maxNanoUsd);
  const alert = lossNanoUsd > 0 ? "the provider reported more than the request could use" : null;
  return { outcome: "settle", chargeNanoUsd: amountNanoUsd - lossNanoUsd, lossNanoUsd, basis, alert };
}

/** What the provider says it used for nothing it may bill all the same: that is our loss. A flat price has no usage. */
function release(quote: Quote, usage: UsageReading): Conclusion {
  const isBilled = typeof usage === "object" && quote.flatNanoUsd === null;
  const lossNanoUsd = isBilled ? quote.chargeForUsage(usage) : 0;
  return { outcome: "release", chargeNanoUsd: 0, lossNanoUsd, basis: "nothing", alert: null };
}
