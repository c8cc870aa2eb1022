import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { readBlock, readChainId } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";
import { PARTS, readPart, readStablecoin, type SaidContracts } from "./settlement-parts.ts";

/** The chain and the contracts in the settings. */
export type ChainIdentity = {
  chainId: number;
  settlement: Address;
  anchor?: Anchor | undefined;
  /** Contracts in the settings that the settlement contract, or its minter, also has. */
  contracts?: SaidContracts | undefined;
};

/** A known block that is old enough to be on every node. */
export type Anchor = { block: number; hash: string };

/**
 * Why a node contradicts the settings; undefined if it does not. The contract has the same address on several chains,
 * so an activation on another chain, where a dollar may be worthless, would look valid.
 *
 * @throws ChainUnavailable if it cannot be read now; `NoSettlement` while there is no settlement contract.
 */
export async function strangerOf(client: ChainClient, identity: ChainIdentity): Promise<string | undefined> {
  const { chainId, settlement, anchor, contracts = {} } = identity;
  const actual = await readChainId(client);
  if (actual !== chainId) return `PRIMARY_CHAIN_ID is ${chainId}, and the node is on chain ${actual}`;
  if (anchor !== undefined) {
    const block = await readBlock(client, anchor.block);
    if (block === null) throw new ChainUnavailable(`the node does not know block ${anchor.block}, the anchor`);
    if (block.hash !== anchor.hash.toLowerCase()) {
      return `block ${anchor.block} is ${block.hash}, not ${anchor.hash} as PRIMARY_ANCHOR says: this is another chain`;
    }
  }
  for (const part of PARTS) {
    const said = contracts[`${part}_ADDRESS`];
    // One is always read, to check that there is a settlement contract.
    if (said === undefined && part !== "TOKEN") continue;
    const known = await readPart(client, settlement, part);
    if (said !== undefined && said.toLowerCase() !== known) {
      return `${part}_ADDRESS is ${said}, and the settlement contract's ${part} is ${known ?? "none"}`;
    }
  }
  const { STABLECOIN_ADDRESS: dollar } = contracts;
  if (dollar === undefined) return undefined;
  const taken = await readStablecoin(client, settlement);
  if (dollar.toLowerCase() === taken) return undefined;
  return `STABLECOIN_ADDRESS is ${dollar}, and the minter's STABLECOIN is ${taken ?? "none"}`;
}

const CHECK_EVERY_MS = 3_600_000;

/** Checks that the node is on the right chain: at first, and then once an hour. */
export function createIdentityCheck(
  options: ChainIdentity & { client: ChainClient; now(): number },
): () => Promise<string | undefined> {
  const { client, now } = options;
  let checkedAt = Number.NEGATIVE_INFINITY;

  return async () => {
    if (now() - checkedAt < CHECK_EVERY_MS) return undefined;
    const stranger = await strangerOf(client, options);
    if (stranger === undefined) checkedAt = now();
    return stranger;
  };
}
