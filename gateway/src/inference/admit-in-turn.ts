import type { Gateway } from "../gateway.ts";
import { admit } from "./admit.ts";
import type { InferenceRequest } from "./inference.ts";
import type { Order } from "./order.ts";

/**
 * Admits a request when there is room for it at the provider. While it waits it holds nothing. Whoever is admitted
 * gives the room back with `endExchange`. Throws `GatewayError` for whatever is refused.
 */
export async function admitInTurn(gateway: Gateway, request: InferenceRequest, order: Order): ReturnType<typeof admit> {
  const model = order.model.id;
  const room = gateway.queue.enter(model, request.credential.partition, request.clientGone);
  if (room !== undefined) await room;
  let isForwarded = false;
  try {
    const admitted = await admit(gateway, request, order);
    isForwarded = !("claimed" in admitted);
    return admitted;
  } finally {
    if (!isForwarded) gateway.queue.leave(model);
  }
}
