import { agentPartition } from "@inference/ledger/partition";
import { type Address, isAddress, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { utcDay } from "@inference/protocol/window";
import { offerAnswer, offerBody, withdrawalBody } from "@inference/protocol/wire/offer";
import type * as z from "zod";
import { nextNonce, setSignedOffer } from "../agents/signed-offer.ts";
import { json, ok } from "../docs/operation.ts";
import { readSmall } from "../http/body.ts";
import type { GatewayContext } from "../http/context.ts";
import { amounts } from "../http/money.ts";
import { endpoint } from "./endpoint.ts";

const path = "/api/v1/agents/{token}/offer";
const group = "Agents";
const pathParameters = { token: "The agent's token." };
const answers = [ok("The offer, and the day's numbers.", json("OfferAnswer", offerAnswer))];

export const getOffer = endpoint({
  path,
  id: "getOffer",
  group,
  title: "What an agent sells of its capacity",
  about: "Public. `offer` is null if none is in force.",
  pathParameters,
  answers,
  errors: ["ledger_unavailable"],
  handle: (context) => answerOffer(context, tokenOf(context)),
});

export const putOffer = endpoint({
  method: "PUT",
  path,
  id: "putOffer",
  group,
  title: "Sell a share of an agent's capacity",
  about:
    "The agent's computer signs the typed data `Offer(address agentToken,uint32 day,uint16 shareBps,uint64 nonce)` " +
    "(EIP-712) for the domain `InferenceGateway`, version `1`, of the primary chain and its settlement contract. The " +
    "offer replaces the one before. Sending it again changes nothing.",
  pathParameters,
  body: { name: "Offer", schema: offerBody },
  answers,
  errors: ["not_found", "invalid_signature", "chain_unavailable", "ledger_unavailable"],
  handle: (context) => takeOffer(context, offerBody),
});

export const deleteOffer = endpoint({
  method: "DELETE",
  path,
  id: "deleteOffer",
  group,
  title: "Withdraw an agent's offer",
  about: "With a signed offer of share 0 and a higher nonce. Requests that are being served end as they began.",
  pathParameters,
  body: { name: "Withdrawal", schema: withdrawalBody },
  answers,
  errors: ["not_found", "invalid_signature", "chain_unavailable", "ledger_unavailable"],
  handle: (context) => takeOffer(context, withdrawalBody),
});

type Body = { day: number; share_bps: number; nonce: number; signature: `0x${string}` };

async function takeOffer(context: GatewayContext, schema: z.ZodType<Body>): Promise<Response> {
  const agentToken = tokenOf(context);
  const { day, share_bps: shareBps, nonce, signature } = await readSmall(context, schema);
  const { gateway, client, at } = context.var;
  await setSignedOffer(gateway, { offer: { agentToken, day, shareBps, nonce }, signature, client }, at);
  return answerOffer(context, agentToken);
}

function tokenOf(context: GatewayContext): Address {
  const token = context.req.param("token") ?? "";
  if (isAddress(token)) return lowerAddress(token);
  return fail("invalid_request", "The path needs the agent's token, an address like 0x12...", { param: "token" });
}

async function answerOffer(context: GatewayContext, agentToken: Address): Promise<Response> {
  const { gateway, at } = context.var;
  const view = await gateway.environment.ledger.read(agentPartition(agentToken), { type: "offer", at });
  const { last } = view;
  const offer = last !== null &&
    view.isInForce && {
      ...{ hash: last.hash, day: last.day, share_bps: last.shareBps, nonce: last.nonce },
      since: new Date(last.since).toISOString(),
    };
  const today = {
    date: utcDay(at),
    ...amounts({
      capacity: view.capacityNanoUsd,
      limit: view.limitNanoUsd,
      sold: view.soldNanoUsd,
      held: view.heldNanoUsd,
      left: view.leftNanoUsd,
      own_use: view.ownNanoUsd,
    }),
    resets_at: new Date(view.resetsAt).toISOString(),
  };
  const data = { agent_token: agentToken, offer: offer || null, next_nonce: nextNonce(last), today };
  return context.json({ data });
}
