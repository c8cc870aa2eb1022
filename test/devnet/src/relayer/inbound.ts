import type { Hex } from "viem";
import { zeroHash } from "viem";
import { endpointAbi } from "./abi.ts";
import type { Chain } from "./chain.ts";
import type { Packet } from "./packet.ts";

/** Where a message is at its destination's endpoint. */
export type Inbound =
  /** Not committed. */
  | "absent"
  /** Committed, to be delivered. */
  | "committed"
  | "delivered"
  /** Another message was committed in its place, or its receiver's owner has given it up. */
  | "displaced";

export async function inboundState({ reader, settings }: Chain, packet: Packet): Promise<Inbound> {
  const endpoint = { address: settings.endpoint, abi: endpointAbi } as const;
  const { receiver, srcEid, sender, nonce } = packet;
  const hash: Hex = await reader.readContract({
    ...endpoint,
    functionName: "inboundPayloadHash",
    args: [receiver, srcEid, sender, nonce],
  });
  if (hash === packet.payloadHash) return "committed";
  if (hash !== zeroHash) return "displaced";
  const lazyNonce = await reader.readContract({
    ...endpoint,
    functionName: "lazyInboundNonce",
    args: [receiver, srcEid, sender],
  });
  // A hash is taken out only by a delivery, and a delivery moves the nonce up to itself at least.
  return nonce <= lazyNonce ? "delivered" : "absent";
}

export async function isCommitted(chain: Chain, packet: Packet): Promise<boolean> {
  const state = await inboundState(chain, packet);
  return state === "committed" || state === "delivered";
}
