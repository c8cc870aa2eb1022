import { UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Sends the request to the provider, and keeps count of how the provider does. Throws `UpstreamFailure`, and 503 while
 * the provider fails for the model: that is looked at once more here, for a request may have waited for its turn.
 */
export async function askProvider(
  { provider, keyCheck, breaker, metrics, environment: { clock } }: Gateway,
  { order, owner, upstreamKey, abort }: Exchange,
): Promise<UpstreamResponse> {
  const askedAt = clock.now();
  const model = order.model.id;
  breaker.admit(model, owner, askedAt);
  try {
    const response = await provider.infer(
      { path: order.upstreamPath, body: order.upstreamBody, stream: order.stream },
      upstreamKey,
      abort.signal,
    );
    // The provider has it, and a stream may go on for minutes.
    order.upstreamBody = "";
    metrics.upstreamAnswered(response.status, clock.now() - askedAt);
    keyCheck.answered(upstreamKey, response.status);
    if (isDown.has(response.status)) breaker.failed(model, owner, clock.now());
    else breaker.succeeded(model);
    return response;
  } catch (error) {
    if (error instanceof UpstreamFailure) metrics.upstreamFailed(error.stage);
    // What we broke off ourselves says nothing about the provider.
    if (error instanceof UpstreamFailure && !abort.signal.aborted) {
      // A request that was not sent has no part in it; one that was may be what broke the connection.
      breaker.failed(model, error.stage === "not_sent" ? null : owner, clock.now());
    } else breaker.gaveUp(model, askedAt);
    throw error;
  }
}

/** It is not there. A 500 may be about the one request, a 429 is about us, and any other answer is one. */
const isDown = new Set([502, 503, 504]);
