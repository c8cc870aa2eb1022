import { type Offer, offerTypedData } from "@inference/protocol/offer";
import type { offerAnswer } from "@inference/protocol/wire/offer";
import type { Address } from "viem";
import type * as z from "zod";
import type { Account, Connection } from "./connection.ts";
import { contractOn, readChain } from "./directory.ts";
import { fromWallet } from "./errors.ts";
import { request } from "./request.ts";

export type OfferState = z.infer<typeof offerAnswer>["data"];

/** An agent's computer: a key of its own, or a wallet. */
export type OfferSigner = Pick<Account, "address" | "signTypedData">;

/** An agent's offer, and the day's sales. */
export async function readOffer(connection: Connection, agentToken: Address): Promise<OfferState> {
  return (await request<{ data: OfferState }>(connection, pathOf(agentToken))).data;
}

/**
 * Signs an offer with the agent's computer and sends it. The offer replaces the previous one; a share of 0 withdraws
 * it.
 *
 * @param offer.day In days since 1970; 0: every day, until it is withdrawn.
 */
export async function putOffer(
  connection: Connection,
  { computer, ...terms }: { computer: OfferSigner } & Omit<Offer, "nonce">,
): Promise<OfferState> {
  const { next_nonce: nonce } = await readOffer(connection, terms.agentToken);
  const primary = await readChain(connection);
  const address = contractOn(connection, primary, "inferenceSettlement");
  const offer = { ...terms, nonce };
  const typed = offerTypedData({ chainId: primary.chain_id, address }, offer);
  const signature = await fromWallet(computer.signTypedData(typed));
  const body = { day: offer.day, share_bps: offer.shareBps, nonce, signature };
  const method = offer.shareBps === 0 ? "DELETE" : "PUT";
  return (await request<{ data: OfferState }>(connection, pathOf(terms.agentToken), { method, body })).data;
}

function pathOf(agentToken: Address): string {
  return `/api/v1/agents/${agentToken.toLowerCase()}/offer`;
}
