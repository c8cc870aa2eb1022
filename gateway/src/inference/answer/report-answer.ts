import type { UpstreamResponse } from "../../environment.ts";
import type { Gateway } from "../../gateway.ts";
import type { Failure } from "../../load/failure-budget.ts";
import type { ProviderError } from "../../upstream/provider-error.ts";
import { readRateLimit } from "../../upstream/rate-limit.ts";
import type { Call } from "../call.ts";

/**
 * Reports the provider's answer to the key check and to the queue. An agent's key tells nothing about the
 * protocol's key.
 *
 * @param error Null if the answer is not an error.
 */
export function reportAnswer(
  { keyCheck, environment }: Gateway,
  { server, turn, upstreamKey }: Call,
  response: UpstreamResponse,
  error: ProviderError | null,
): void {
  if (error === null) keyCheck.accepted(upstreamKey);
  else if (error.cause === "key") keyCheck.doubted(upstreamKey);
  const failure = failureOf(error, keyCheck.isRefused);
  const rate = server === null ? readRateLimit(response, environment.clock.now()) : null;
  const blockedMs = server === null && error !== null ? error.blockedMs : null;
  turn.answered({ failure, rate, blockedMs });
}

/** A refused key refuses the requests of all accounts, so its refusals count for no account. */
function failureOf(error: ProviderError | null, isKeyRefused: boolean): Failure | null {
  if (error === null || (error.cause === "key" && isKeyRefused)) return null;
  return error.cause === "request" ? "request" : "provider";
}
