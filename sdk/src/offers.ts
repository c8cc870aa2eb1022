import { type Offer, offerTypedData, STANDING_DAY } from "@inference/protocol/offer";
import { dayNumber } from "@inference/protocol/window";
import type { offerAnswer } from "@inference/protocol/wire/offer";
import type { Address } from "viem";
import type * as z from "zod";
import type { Account, Connection } from "./connection.ts";
import { contractOn, readChain } from "./directory.ts";
import { ClientError, fromWallet } from "./errors.ts";
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
 * it. It is of the gateway's day, or if it is standing of every day, until it is withdrawn.
 */
export async function putOffer(
  connection: Connection,
  { computer, agentToken, shareBps, isStanding }: PutOptions,
): Promise<OfferState> {
  const { next_nonce: nonce, offer: last, today } = await readOffer(connection, agentToken);
  const ofToday = dayNumber(Date.parse(today.date));
  // Such a signature would be one for every day.
  if (ofToday === STANDING_DAY) throw new ClientError("unreachable", `The gateway names no day: ${today.date}.`);
  const day = isStanding ? STANDING_DAY : shareBps === 0 ? (last?.day ?? ofToday) : ofToday;
  const primary = await readChain(connection);
  const address = contractOn(connection, primary, "inferenceSettlement");
  const offer: Offer = { agentToken, day, shareBps, nonce };
  const typed = offerTypedData({ chainId: primary.chain_id, address }, offer);
  const signature = await fromWallet(computer.signTypedData(typed));
  const body = { day, share_bps: shareBps, nonce, signature };
  const method = shareBps === 0 ? "DELETE" : "PUT";
  return (await request<{ data: OfferState }>(connection, pathOf(agentToken), { method, body })).data;
}
type PutOptions = { computer: OfferSigner; agentToken: Address; shareBps: number; isStanding: boolean };

function pathOf(agentToken: Address): string {
  return `/api/v1/agents/${agentToken.toLowerCase()}/offer`;
}
