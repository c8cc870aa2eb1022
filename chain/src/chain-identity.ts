import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { readBlock, readChainId } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";
import { type ConfiguredContracts, PARTS, readPart, readStablecoin } from "./settlement-parts.ts";

/** The chain and the contracts in the settings. */
export type ChainIdentity = {
  chainId: number;
  settlement: Address;
  anchor?: Anchor | undefined;
  /** Contracts in the settings that the settlement contract, or its minter, also has. */
  contracts?: ConfiguredContracts | undefined;
};

/** A known block that is old enough to be on every node. */
export type Anchor = { block: number; hash: string };

/**
 * Why a node contradicts the settings; undefined if it does not. The contract has the same address on several chains,
 * so an activation on another chain, where a dollar may be worthless, would look valid.
 *
 * @throws ChainUnavailable if it cannot be read now; `NoSettlement` while there is no settlement contract.
 */
export async function settingsContradiction(client: ChainClient, identity: ChainIdentity): Promise<string | undefined> {
  const { chainId, settlement, anchor, contracts = {} } = identity;
  const actualId = await readChainId(client);
  if (actualId !== chainId) return `PRIMARY_CHAIN_ID is ${chainId}, and the node is on chain ${actualId}`;
  if (anchor !== undefined) {
    const block = await readBlock(client, anchor.block);
    if (block === null) throw new ChainUnavailable(`the node does not know block ${anchor.block}, the anchor`);
    if (block.hash !== anchor.hash.toLowerCase()) {
      return `block ${anchor.block} is ${block.hash}, not ${anchor.hash} as PRIMARY_ANCHOR says: this is another chain`;
    }
  }
  for (const part of PARTS) {
    const configured = contracts[`${part}_ADDRESS`];
    // One is always read, to check that there is a settlement contract.
    if (configured === undefined && part !== "TOKEN") continue;
    const actual = await readPart(client, settlement, part);
    if (configured !== undefined && configured.toLowerCase() !== actual) {
      return `${part}_ADDRESS is ${configured}, and the settlement contract's ${part} is ${actual ?? "none"}`;
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
    const contradiction = await settingsContradiction(client, options);
    if (contradiction === undefined) checkedAt = now();
    return contradiction;
  };
}
