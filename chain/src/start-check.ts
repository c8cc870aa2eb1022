import type { Address } from "@inference/protocol/credential";
import { readChainId } from "./chain-view.ts";
import { type ChainClient, ChainUnavailable } from "./rpc.ts";

/**
 * What a node says at once against the settings: another chain, or nothing at the contract's address. Undefined if it
 * does not, and also if it cannot be asked: a gateway serves what was credited before while its node is down.
 */
export async function startContradiction(
  client: ChainClient,
  { chainId, settlement }: { chainId: number; settlement: Address },
): Promise<string | undefined> {
  try {
    const actual = await readChainId(client);
    if (actual !== chainId) return `PRIMARY_CHAIN_ID is ${chainId}, and the node at PRIMARY_RPC_URL is on ${actual}`;
    const code = await client.request("eth_getCode", [settlement, "latest"]);
    return code === "0x" ? `SETTLEMENT_ADDRESS: there is no contract at ${settlement}` : undefined;
  } catch (error) {
    if (error instanceof ChainUnavailable) return undefined;
    throw error;
  }
}
