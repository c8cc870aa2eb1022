import { UpstreamFailure } from "../../environment.ts";
import { ModelUnavailable } from "../../load/model-unavailable.ts";
import type { Order, WrittenOrder } from "./order.ts";

/**
 * The order for the next model, after a failure; undefined if there is none, or if another model is no remedy: the
 * request is the cause, or the provider may bill it.
 */
export function nextModel(order: Order, failure: unknown): WrittenOrder | undefined {
  const why = whyUnavailable(failure);
  if (why === null || order.fallback === undefined) return undefined;
  return { ...order.fallback, tried: [...(order.tried ?? []), { model: order.model.id, why }] };
}

function whyUnavailable(failure: unknown): string | null {
  if (failure instanceof ModelUnavailable) return failure.why;
  return failure instanceof UpstreamFailure && failure.stage === "not_sent" ? "not reached" : null;
}
