import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type ChainIdentity, strangerOf } from "./chain-identity.ts";
import type { ChainClient } from "./rpc.ts";
import { NoSettlement } from "./settlement-parts.ts";

/**
 * What a node says at once against the settings: another chain, another's contracts, or none at the settlement's
 * address. Undefined if it does not, and also if it cannot be asked: a gateway serves what was credited before while
 * its node is down.
 */
export async function startContradiction(client: ChainClient, identity: ChainIdentity): Promise<string | undefined> {
  try {
    return await strangerOf(client, identity);
  } catch (error) {
    if (error instanceof NoSettlement) return `SETTLEMENT_ADDRESS: ${error.message}`;
    if (error instanceof ChainUnavailable) return undefined;
    throw error;
  }
}
