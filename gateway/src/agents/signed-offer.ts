import { MAX_NONCE_STEP } from "@inference/ledger/limits";
import type { OfferView } from "@inference/ledger/offer";
import { agentPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import type { Offer } from "@inference/protocol/offer";
import { offerHash } from "@inference/protocol/offer-hash";
import type { Hex } from "@inference/protocol/plain-signature";
import { dayNumber } from "@inference/protocol/window";
import { isSigned } from "../auth/is-signed.ts";
import type { Gateway } from "../gateway.ts";
import { offerName } from "./open-offers.ts";

export type SignedOffer = {
  offer: Offer;
  signature: Hex;
  /** The client's address; undefined if it is unknown. */
  client: string | undefined;
};

/**
 * Puts what an agent's computer has signed in place of what it signed before. A share of 0 withdraws that. Safe to
 * repeat.
 *
 * Throws 404 if this gateway sells nothing or the registry does not know the agent, 401 if its computer has not signed
 * it, 400 for a day that is over or a nonce that is used or too high, and as the chain's reader does.
 */
export async function setSignedOffer(gateway: Gateway, { offer, signature, client }: SignedOffer, at: number) {
  const { config, environment, openOffers, chainReads } = gateway;
  const { agentToken, day, shareBps, nonce } = offer;
  if (config.upstream.adminKey === null) {
    fail("not_found", "This gateway sells no agent's capacity: its operator has not set UPSTREAM_ADMIN_KEY.");
  }
  const seller = await chainReads(() => environment.chain.agentSeller(agentToken), client);
  if (seller === null) {
    const message = `${agentToken} is no agent that the primary chain's registry created, and cannot sell.`;
    return fail("not_found", message);
  }
  if (seller.computer === null) {
    return fail("invalid_signature", "The agent has no computer. Its owner sets one: `setComputer` of the registry.");
  }
  const computer = lowerAddress(seller.computer);
  const hash = offerHash(config.settlement, offer);
  if (!(await isSigned(gateway, { address: computer, hash, signature, client }))) {
    const { chainId, address } = config.settlement;
    const domain = `chain ${chainId} and contract ${address}`;
    fail("invalid_signature", `The agent's computer ${computer} has not signed this offer for ${domain}.`);
  }
  const terms = { hash, day, shareBps, nonce, computer, owner: lowerAddress(seller.owner) };
  const partition = agentPartition(agentToken);
  const { status } = await environment.ledger.run(() => send(partition, { type: "setOffer", at, ...terms }));
  if (status === "wrong_day") refuseDay(day, at);
  if (status === "nonce_used" || status === "nonce_too_high") {
    const { last } = await environment.ledger.read(partition, { type: "offer", at });
    refuseNonce(nonce, last);
  }
  await keepName(gateway, offer);
  await openOffers.changed(agentToken);
}

function refuseDay(day: number, at: number): never {
  const today = dayNumber(at);
  const message = `\`day\` is ${day}, and today is ${today}. Sign an offer for today, or 0 for one that stands.`;
  return fail("invalid_request", message, { param: "day", metadata: { today } });
}

function refuseNonce(nonce: number, last: OfferView["last"]): never {
  const next = nextNonce(last);
  const why = nonce < next ? "was used, or a higher one" : "is too high";
  const most = next - 1 + MAX_NONCE_STEP;
  const message = `The nonce ${nonce} ${why}. Sign an offer with a nonce of at least ${next} and at most ${most}.`;
  return fail("invalid_request", message, { param: "nonce", metadata: { next_nonce: next } });
}

export function nextNonce(last: OfferView["last"]): number {
  return (last?.nonce ?? 0) + 1;
}

/** The agent's partition is the authority. A name that is not kept is kept by the next repetition of the offer. */
async function keepName({ environment }: Gateway, { agentToken, day, shareBps }: Offer): Promise<void> {
  const { keyValue, log } = environment;
  const { key, options } = offerName(agentToken, day);
  try {
    if (shareBps === 0) await keyValue.delete(key);
    else await keyValue.put(key, "", options);
  } catch (error) {
    log("warn", "offer_not_listed", { agent: agentToken, error: String(error) });
  }
}
