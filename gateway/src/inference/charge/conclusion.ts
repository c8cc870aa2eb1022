import type { NanoUsd } from "@inference/protocol/money";
import { type Delivered, isNothingDelivered, type Quote } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";

/** How a forwarded request ended, and the usage that the provider reported. */
export type Ending = ReportedUsage & (NothingCame | AnswerCame);

/** Nothing was delivered: the provider was not reached, refused, failed before any content, or sent no answer. */
type NothingCame = {
  kind: "nothing";
  why: string;
  /**
   * The kind of answer that the provider may bill if it reports no usage: `whole` for an answer that the gateway gives
   * up. Null if the provider failed or was not reached, and bills nothing.
   */
  mayBill: AnswerKind | null;
};

/** An answer came, whole or in part. */
type AnswerCame = {
  kind: "answer";
  delivered: Delivered;
  /** Everything that the gateway read. The provider may bill all of it, also the part after the client left. */
  read?: Delivered;
  /** Whether the provider's answer came to its end. */
  complete: boolean;
  as: AnswerKind;
  clientGone: boolean;
  /** Whether we stopped before its end: it took too long, was too large, or could not be read or written. */
  givenUp: boolean;
};

/** A stream's delivered part is known, because each event is sent at once. A whole answer is sent at its end. */
export type AnswerKind = "stream" | "whole";

/** Which of the two a request's answer is. */
export function answerKind(route: { passesThrough: boolean }, order: { stream: boolean }): AnswerKind {
  return order.stream || route.passesThrough ? "stream" : "whole";
}

/** The charge and its basis. The customer owes at most the hold. The operator loses an amount above it. */
export type Conclusion = {
  outcome: "settle" | "release";
  chargeNanoUsd: NanoUsd;
  lossNanoUsd: NanoUsd;
  basis: "nothing" | "usage" | "flat" | "delivered" | "hold";
  alert: string | null;
  /** The provider reported more than the request could use. */
  exceedsBound: boolean;
};

/** The charge of a request. */
export type Ended = {
  conclusion: Conclusion;
  /** Resolves to true once the end is durable, and to false if the ledger cannot write it now. */
  whenDurable(): Promise<boolean>;
};

/** The settlement matrix of ARCHITECTURE.md: what each ending costs. */
export function conclude(quote: Quote, ending: Ending): Conclusion {
  const conclusion =
    ending.kind === "nothing" ? concludeNothing(quote, ending) : addLoss(quote, ending, concludeAnswer(quote, ending));
  // The usage does not matter for a flat price.
  const isTold = conclusion.alert === null && ending.malformedUsage && quote.flatNanoUsd === null;
  return isTold ? { ...conclusion, alert: "the provider reported a usage that cannot be" } : conclusion;
}

/** The ending of an answer that is not sent, because its charge could not be written. */
export const unsent: Ending = {
  ...{ kind: "nothing", why: "the charge could not be written", mayBill: null },
  ...nothingReported,
};

/** The conclusion of such an answer. The charge becomes a loss. */
export function withoutCharge({ chargeNanoUsd, lossNanoUsd }: Conclusion): Conclusion {
  return release(chargeNanoUsd + lossNanoUsd);
}

function concludeAnswer(quote: Quote, ending: AnswerCame & ReportedUsage): Conclusion {
  const { usage, delivered } = ending;
  if (delivered.isBlocked === true) return concludeBlocked(quote, ending);
  const isFlat = quote.flatNanoUsd !== null;
  if (typeof usage === "object" && !isFlat) return charge(quote, quote.chargeForUsage(usage), "usage");
  // The client does not wait for the rest of the answer, which the provider may bill.
  const isAbandoned = !ending.complete && (ending.clientGone || ending.givenUp);
  const owedNanoUsd = quote.chargeForDelivered(delivered);
  if (isAbandoned && (ending.as === "whole" || isNothingDelivered(delivered))) {
    const mayBillNanoUsd = unknownBill(quote, ending.as);
    return charge(quote, mayBillNanoUsd, isFlat ? "flat" : ending.as === "whole" ? "hold" : "delivered");
  }
  if (isFlat) return isAbandoned ? charge(quote, quote.maxNanoUsd, "flat") : deliveredOnly(quote, owedNanoUsd, "flat");
  return isNothingDelivered(delivered)
    ? deliveredOnly(quote, 0, "delivered", ending.as)
    : charge(quote, owedNanoUsd, "delivered");
}

/** Adds the amount above the charge that the provider may bill: all of the hold for an answer that was given up. */
function addLoss(quote: Quote, ending: AnswerCame & ReportedUsage, conclusion: Conclusion): Conclusion {
  const { beyond, complete, delivered, givenUp, read } = ending;
  if (quote.flatNanoUsd !== null || delivered.isBlocked === true) return conclusion;
  let mayBillNanoUsd = 0;
  if (beyond !== undefined) mayBillNanoUsd = quote.chargeForUsage(beyond);
  else if (givenUp && !complete) mayBillNanoUsd = quote.maxNanoUsd;
  else if (read !== undefined && conclusion.basis === "delivered") mayBillNanoUsd = quote.chargeForDelivered(read);
  const lossNanoUsd = Math.max(conclusion.lossNanoUsd, mayBillNanoUsd - conclusion.chargeNanoUsd);
  return { ...conclusion, lossNanoUsd };
}

/** Images. The provider blocked at least one of them. It may bill all others. */
function concludeBlocked(quote: Quote, { delivered, complete, clientGone, givenUp }: AnswerCame): Conclusion {
  const mayBillNanoUsd = quote.chargeForDelivered({ ...delivered, events: Number.MAX_SAFE_INTEGER });
  const isAbandoned = !complete && (clientGone || givenUp);
  const owedNanoUsd = isAbandoned ? mayBillNanoUsd : quote.chargeForDelivered(delivered);
  const lossNanoUsd = mayBillNanoUsd - owedNanoUsd;
  return owedNanoUsd === 0 ? release(lossNanoUsd) : { ...charge(quote, owedNanoUsd, "flat"), lossNanoUsd };
}

/** The customer owes the delivered part. The operator loses the rest of the amount that the provider may bill. */
function deliveredOnly(
  quote: Quote,
  owedNanoUsd: NanoUsd,
  basis: "flat" | "delivered",
  as: AnswerKind = "whole",
): Conclusion {
  const lossNanoUsd = unknownBill(quote, as) - owedNanoUsd;
  const isFree = owedNanoUsd === 0 && lossNanoUsd > 0;
  return isFree ? release(lossNanoUsd) : { ...charge(quote, owedNanoUsd, basis), lossNanoUsd };
}

/** The most that the provider may bill for an answer that nobody knows. A client that leaves such an answer pays it. */
export function unknownBill(quote: Quote, as: AnswerKind): NanoUsd {
  return as === "whole" ? quote.maxNanoUsd : quote.chargeForPrompt();
}

function charge(quote: Quote, amountNanoUsd: NanoUsd, basis: Conclusion["basis"]): Conclusion {
  const lossNanoUsd = Math.max(0, amountNanoUsd - quote.maxNanoUsd);
  const exceedsBound = lossNanoUsd > 0;
  const alert = exceedsBound ? "the provider reported more than the request could use" : null;
  return { outcome: "settle", chargeNanoUsd: amountNanoUsd - lossNanoUsd, lossNanoUsd, basis, alert, exceedsBound };
}

/** The customer owes nothing. The operator loses the reported usage, or else the amount that the provider may bill. */
function concludeNothing(quote: Quote, { usage, beyond, mayBill }: NothingCame & ReportedUsage): Conclusion {
  const known = beyond ?? usage;
  if (typeof known === "object" && quote.flatNanoUsd === null) return release(quote.chargeForUsage(known));
  return release(mayBill === null ? 0 : unknownBill(quote, mayBill));
}

function release(lossNanoUsd: NanoUsd): Conclusion {
  return { outcome: "release", chargeNanoUsd: 0, lossNanoUsd, basis: "nothing", alert: null, exceedsBound: false };
}
