import type { Claimed } from "@inference/ledger/claim";
import { LedgerUnavailable } from "@inference/ledger/client";
import type { Claim } from "@inference/ledger/commands";
import { chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { fail } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { OpenOffer } from "../../agents/open-offers.ts";
import { credentialError } from "../../auth/known-credential.ts";
import type { Spender } from "../../auth/spender.ts";
import { limits } from "../../config.ts";
import type { Gateway } from "../../gateway.ts";
import { holdDetail } from "../charge/receipt.ts";
import type { InferenceRequest } from "../request.ts";
import { type Order, usedTerms } from "../requests/order.ts";
import { refusedError } from "./refusal.ts";

/** `availableNanoUsd` is undefined if a capacity pays. */
export type Held = { server: OpenOffer | null; availableNanoUsd: NanoUsd | undefined };

/**
 * Takes the hold of a request. Returns the agent's offer that the hold is also under, if an agent serves it, and the
 * rest of the account's balance. If another request has the same `Idempotency-Key`, takes none and returns that claim.
 * Throws `GatewayError` if the request is refused.
 */
export async function takeHold(
  gateway: Gateway,
  { id, at, credential, route, tag }: InferenceRequest,
  order: Order,
  { spender, claim }: { spender: Spender | null; claim: Claim | null },
): Promise<{ claimed: Claimed } | Held> {
  const { config, environment, openOffers } = gateway;
  const { ledger, random } = environment;
  const { partition: owner, payer } = credential;
  const amountNanoUsd = order.hold.maxNanoUsd;
  const offers = payer.kind === "key" ? openOffers.choose(amountNanoUsd, at) : [];
  const reservation = {
    id,
    at,
    owner,
    payer,
    amountNanoUsd,
    leaseMs: limits.leaseMs,
    chain: chainPartition(config.settlement.chainId),
    inPieces: config.ledgerIsFar,
    detail: JSON.stringify(holdDetail({ route, order, tag })),
    ...usedTerms(order),
    claim: claim ?? undefined,
    offers: offers.map(({ agent, offer }) => ({ agent, offer })),
  };
  const admission = await ledger.run(() => reserveRequest(reservation));
  switch (admission.status) {
    case "reserved": {
      const server = offers.find(({ agent }) => agent === admission.server?.agent) ?? null;
      openOffers.asked(offers, server, amountNanoUsd);
      return { server, availableNanoUsd: admission.availableNanoUsd };
    }
    case "claimed":
      return { claimed: admission };
    case "refused":
    case "limited":
    case "model_not_allowed":
      throw refusedError(admission, order, { at, jitter: (random.bytes(1)[0] ?? 0) / 255, spender });
    case "unauthenticated":
      throw credentialError(payer, admission.fault);
    case "clock_skew":
      throw new LedgerUnavailable("the ledger's clock is not ours");
    case "unheard":
      return fail("chain_unavailable", "The gateway is still reading the chain. Retry in a few seconds.", {
        retryAfterS: 5,
      });
    case "conflict":
      throw new Error(`request id ${id} came twice`);
  }
}
