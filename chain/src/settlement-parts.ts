import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { askView, parseAddress, type View } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";

/** The contracts in the settlement contract's immutable fields. */
export const PARTS = ["TOKEN", "MINTER", "BRIDGE", "POOL", "REGISTRY"] as const;
export type Part = (typeof PARTS)[number];
/** Their addresses in the settings, with the stablecoin that the minter takes. */
export type ConfiguredContracts = { readonly [P in Part | "STABLECOIN" as `${P}_ADDRESS`]?: Address | undefined };

/**
 * Null if the chain has no such contract.
 *
 * @throws NoSettlement if nothing answers as a settlement contract does.
 */
export async function readPart(client: ChainClient, settlement: Address, part: Part): Promise<Address | null> {
  const address = await readAddress(client, { to: settlement, abi: inferenceSettlementAbi, functionName: part });
  if (address === undefined) throw new NoSettlement(`there is no settlement contract at ${settlement}`);
  return address;
}

/**
 * The stablecoin that the settlement contract's minter takes. Null if there is no minter.
 *
 * @throws NoSettlement if either of the two does not answer as such a contract does.
 */
export async function readStablecoin(client: ChainClient, settlement: Address): Promise<Address | null> {
  const minter = await readPart(client, settlement, "MINTER");
  if (minter === null) return null;
  const address = await readAddress(client, { to: minter, abi: tokenMinterAbi, functionName: "STABLECOIN" });
  if (address === undefined) throw new NoSettlement(`there is no minter at ${minter}, where the settlement's is`);
  return address;
}

/** Undefined if there is no answer with an address. */
async function readAddress(client: ChainClient, view: View): Promise<Address | null | undefined> {
  return parseAddress((await askView(client, view, "latest")) ?? "0x");
}

/** The node answered, and there is no such contract, or not yet. */
export class NoSettlement extends ChainUnavailable {}
