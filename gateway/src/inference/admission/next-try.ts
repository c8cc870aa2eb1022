import { GatewayError } from "@inference/protocol/errors";
import { pause } from "@inference/protocol/timers";
import { limits } from "../../config.ts";
import type { Gateway } from "../../gateway.ts";
import type { InferenceRequest } from "../request.ts";
import type { WrittenOrder } from "../requests/order.ts";

/**
 * The order to try after a refusal: with an output limit that is affordable if the client set none, or the same after a
 * while if only requests in flight are in the way. Throws the refusal if there is nothing to try.
 */
export async function nextTry(
  gateway: Gateway,
  { at, clientGone }: InferenceRequest,
  order: WrittenOrder,
  refusal: unknown,
): Promise<WrittenOrder> {
  if (!(refusal instanceof GatewayError)) throw refusal;
  const { code, metadata } = refusal.detail;
  const { limitChoice, quote } = order;
  const affordable = Number(metadata?.max_affordable_tokens ?? 0);
  const isLess = affordable < (quote.bound?.completionTokens ?? 0);
  if (limitChoice !== undefined && isLess && affordable >= limitChoice.leastTokens) {
    return limitChoice.rewrite(affordable);
  }
  const { mostMs, eachMs } = limits.budgetWait;
  const { clock, timers } = gateway.environment;
  const mayWait = order.waitsForBudget === true && waits.has(code) && clientGone?.aborted !== true;
  if (!mayWait || clock.now() + eachMs > at + mostMs) throw refusal;
  await pause(timers, eachMs, clientGone ?? undefined);
  return order;
}

/** Codex ends its turn with these errors, and does not show them. They pass within seconds. */
const waits: ReadonlySet<string> = new Set(["budget_reserved", "too_many_in_flight"]);
