import { hashTypedData } from "viem";
import { type Offer, offerTypedData } from "./offer.ts";
import type { Settlement } from "./use-leaf.ts";

/** An offer's digest, which names it in each use that it serves, in the use's receipt and in its leaf. */
export function offerHash(settlement: Settlement, offer: Offer): `0x${string}` {
  return hashTypedData(offerTypedData(settlement, offer));
}
