import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type ChainIdentity, settingsContradiction } from "./chain-identity.ts";
import type { ChainClient } from "./rpc.ts";
import { NoSettlement } from "./settlement-parts.ts";

/**
 * How a node contradicts the settings at the start: another chain, other contracts, or no settlement contract.
 * Undefined if it does not, or if it cannot be asked: the gateway serves existing balances while its node is down.
 */
export async function startContradiction(client: ChainClient, identity: ChainIdentity): Promise<string | undefined> {
  try {
    return await settingsContradiction(client, identity);
  } catch (error) {
    if (error instanceof NoSettlement) return `SETTLEMENT_ADDRESS: ${error.message}`;
    if (error instanceof ChainUnavailable) return undefined;
    throw error;
  }
}
