import type { Claim } from "@inference/ledger/commands";
import type { Gateway } from "../gateway.ts";
import type { Spender } from "../upstream/key-records.ts";
import { admit } from "./admit.ts";
import { exhausted, readSessionMeans } from "./means.ts";
import { refusalError } from "./refusal.ts";
import type { InferenceRequest } from "./request.ts";
import type { Order } from "./requests/order.ts";

/**
 * Admits a request when there is room for it at the provider. An API key spends its account's balance and never waits
 * for a chain. A session spends its identity's capacity, which the chain decides: that is asked first, so that nobody's
 * turn passes meanwhile. Who could not pay does not wait, and who waits holds nothing.
 *
 * Whoever is admitted gives the room back with `endExchange`. Throws `GatewayError` for whatever is refused.
 */
export async function admitInTurn(
  gateway: Gateway,
  request: InferenceRequest,
  order: Order,
  claim: Claim | null,
): ReturnType<typeof admit> {
  const { queue, config } = gateway;
  const { credential } = request;
  const means =
    credential.payer.kind === "session"
      ? await readSessionMeans(gateway, credential, request)
      : { spender: null, upstreamKey: config.upstream.apiKey };
  const model = order.model.id;
  if (queue.isFull(model)) await requireFunds(gateway, request, order, means.spender);
  const room = queue.enter(model, credential.partition, request.clientGone);
  if (room !== undefined) await room;
  let isForwarded = false;
  try {
    const admitted = await admit(gateway, request, order, { ...means, claim });
    isForwarded = !("claimed" in admitted);
    return admitted;
  } finally {
    if (!isForwarded) queue.leave(model);
  }
}

async function requireFunds(
  gateway: Gateway,
  { credential, at }: InferenceRequest,
  { quote }: Order,
  spender: Spender | null,
): Promise<void> {
  const refusal = await exhausted(gateway, credential, { at, neededNanoUsd: quote.maxNanoUsd });
  // Nothing that heals in seconds, whose retries would have to be spread.
  if (refusal !== null) throw refusalError(refusal, quote, 0, spender);
}
