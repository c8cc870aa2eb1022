import { UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { Exchange } from "./exchange.ts";

/** Sends the request to the provider, and keeps count of how the provider does. Throws `UpstreamFailure`. */
export async function askProvider(
  { provider, breaker, metrics, environment: { clock } }: Gateway,
  { order, upstreamKey, abort }: Exchange,
): Promise<UpstreamResponse> {
  const askedAt = clock.now();
  const model = order.model.id;
  try {
    const response = await provider.infer(order, upstreamKey, abort.signal);
    metrics.upstreamAnswered(response.status, clock.now() - askedAt);
    if (isDown.has(response.status)) breaker.failed(model, clock.now());
    else breaker.succeeded(model);
    return response;
  } catch (error) {
    if (error instanceof UpstreamFailure) {
      metrics.upstreamFailed(error.stage);
      // What we broke off ourselves says nothing about the provider.
      if (!abort.signal.aborted) breaker.failed(model, clock.now());
    }
    throw error;
  }
}

/** It is not there. A 500 may be about the one request, and a 429 is about us. */
const isDown = new Set([502, 503, 504]);
