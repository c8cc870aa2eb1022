import type { Claimed } from "@inference/ledger/claim";
import { LedgerUnavailable } from "@inference/ledger/client";
import type { Claim } from "@inference/ledger/commands";
import { reserveRequest } from "@inference/ledger/reservation";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import { type Exchange, holdDetail } from "./exchange.ts";
import type { Means } from "./means.ts";
import { credentialError, refusalError } from "./refusal.ts";
import type { InferenceRequest } from "./request.ts";
import type { Order } from "./requests/order.ts";

/**
 * Takes the hold of a request, in every budget that binds who pays for it. Throws `GatewayError` for whatever is
 * refused. Takes none where another request has the same `Idempotency-Key`.
 */
export async function admit(
  gateway: Gateway,
  request: InferenceRequest,
  order: Order,
  { spender, upstreamKey, claim }: Means & { claim: Claim | null },
): Promise<Exchange | { claimed: Claimed }> {
  const { ledger, random } = gateway.environment;
  const { id, at, credential, route } = request;
  const { partition: owner, payer } = credential;
  const reservation = {
    id,
    at,
    owner,
    payer,
    amountNanoUsd: order.quote.maxNanoUsd,
    leaseMs: limits.leaseMs,
    detail: holdDetail(route, order),
    ...(claim === null ? {} : { claim }),
  };
  const admission = await ledger.run(() => reserveRequest(reservation));
  switch (admission.status) {
    case "reserved":
      break;
    case "refused":
      throw refusalError(admission.refusal, order.quote, (random.bytes(1)[0] ?? 0) / 255, spender);
    case "claimed":
      return { claimed: admission };
    case "unauthenticated":
      throw credentialError(payer, admission.fault);
    case "clock_skew":
      throw new LedgerUnavailable("the ledger's clock is not ours");
    case "conflict":
      throw new Error(`request id ${id} came twice`);
  }
  gateway.live.add(id);
  return {
    id,
    at,
    owner,
    keyId: admission.keyId,
    spender,
    upstreamKey,
    route: route.name,
    order,
    abort: new AbortController(),
    upstreamId: null,
    streams: false,
    ended: false,
  };
}
