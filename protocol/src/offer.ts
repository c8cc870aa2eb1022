import type { Address } from "./credential.ts";
import type { Settlement } from "./use-leaf.ts";

/**
 * An agent's offer: the share of its capacity that it sells. Its computer signs it as EIP-712 typed data. The domain
 * names the primary chain and its settlement contract, so that an offer counts for one deployment only.
 */
export type Offer = {
  agentToken: Address;
  /** The UTC day on which it is in force, in days since 1970; `STANDING_DAY`: every day, until it is withdrawn. */
  day: number;
  /** The share in basis points; 0 withdraws what was offered before. */
  shareBps: number;
  /** Each offer of an agent has a higher one than the offer before, by at most 2^20. */
  nonce: number;
};

export const STANDING_DAY = 0;
export const MAX_SHARE_BPS = 10_000;
/** Basis points of a percentage from 0.01 to 100, as a person types it; undefined: it is none. */
export function parseShareBps(percent: string): number | undefined {
  const [, whole = "", fraction = ""] = /^(\d{1,3})(?:\.(\d{1,2}))?%?$/.exec(percent) ?? [];
  const bps = Number(whole) * 100 + Number(fraction.padEnd(2, "0"));
  return whole !== "" && bps >= 1 && bps <= MAX_SHARE_BPS ? bps : undefined;
}

/** The last day that the typed data can name. */
export const MAX_OFFER_DAY = 2 ** 32 - 1;

/** The computer's signed message: `account.signTypedData(offerTypedData(settlement, offer))`. */
export function offerTypedData({ chainId, address }: Settlement, offer: Offer) {
  return {
    domain: { name: "InferenceGateway", version: "1", chainId, verifyingContract: address },
    types: {
      Offer: [
        { name: "agentToken", type: "address" },
        { name: "day", type: "uint32" },
        { name: "shareBps", type: "uint16" },
        { name: "nonce", type: "uint64" },
      ],
    },
    primaryType: "Offer",
    message: { ...offer, nonce: BigInt(offer.nonce) },
  } as const;
}
