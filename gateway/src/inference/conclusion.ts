import type { NanoUsd } from "@inference/protocol/money";
import type { Delivered, Quote, TokenUsage } from "../metering/quote.ts";

/** How a request that was forwarded came to its end. */
export type Ending =
  /** Nothing of value came back: not reached, refused, blocked, or an error before any content. */
  | { kind: "nothing"; why: string }
  /** An answer, whole or in part. */
  | {
      kind: "answer";
      usage: TokenUsage | "missing" | "malformed";
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
  if (ending.kind === "nothing") return release();
  const nothingDelivered = ending.delivered.bytes === 0 && ending.delivered.events === 0;
  // An answer that was to come whole, and its client has gone: the provider may bill all of it.
  const abandoned = !ending.stream && ending.clientGone;
  if (quote.flatNanoUsd !== null) {
    const isOwed = ending.complete || !nothingDelivered || ending.clientGone;
    return isOwed ? charge(quote, quote.flatNanoUsd, "flat") : release();
  }
  if (typeof ending.usage === "object") return charge(quote, quote.chargeForUsage(ending.usage), "usage");
  const alert = ending.usage === "malformed" ? "the provider reported a usage that cannot be" : null;
  const basis = abandoned ? "hold" : "delivered";
  const isUnread = ending.stream && ending.clientGone && nothingDelivered;
  const delivered = isUnread ? quote.chargeForPrompt() : quote.chargeForDelivered(ending.delivered);
  const amount = basis === "hold" ? quote.maxNanoUsd : delivered;
  return { ...charge(quote, amount, basis), alert };
}

function charge(quote: Quote, amountNanoUsd: NanoUsd, basis: Conclusion["basis"]): Conclusion {
  const lossNanoUsd = Math.max(0, amountNanoUsd - quote.maxNanoUsd);
  const alert = lossNanoUsd > 0 ? "the provider reported more than the request could use" : null;
  return { outcome: "settle", chargeNanoUsd: amountNanoUsd - lossNanoUsd, lossNanoUsd, basis, alert };
}

function release(): Conclusion {
  return { outcome: "release", chargeNanoUsd: 0, lossNanoUsd: 0, basis: "nothing", alert: null };
}
