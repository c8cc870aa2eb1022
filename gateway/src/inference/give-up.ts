import type { Exchange } from "./exchange.ts";

/** Why we stopped reading an answer, as its client is told. */
class GivenUp extends Error {
  override name = "GivenUp";
}

/** Stops reading an answer. */
export function giveUp(exchange: Pick<Exchange, "abort">, why: string): Error {
  const reason = new GivenUp(why);
  exchange.abort.abort(reason);
  return reason;
}

/** Null where its time was over, or it was not given up. */
export function whyGivenUp({ reason }: AbortSignal): string | null {
  return reason instanceof GivenUp ? reason.message : null;
}
