import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData } from "viem";
import { callAt, parseAddress, quantity } from "./chain-view.ts";
import { type ChainClient, ChainUnavailable, RpcError } from "./rpc.ts";

/** The contracts that the settlement contract was made with, for ever. */
export const PARTS = ["TOKEN", "MINTER", "BRIDGE", "POOL", "REGISTRY"] as const;
export type Part = (typeof PARTS)[number];
/** What the settings say of them. */
export type SaidContracts = { readonly [P in Part as `${P}_ADDRESS`]?: Address | undefined };

const GAS = 50_000;

/**
 * Null where the chain has none of the kind.
 *
 * @throws NoSettlement where nothing answers as a settlement contract does.
 */
export async function readPart(client: ChainClient, settlement: Address, part: Part): Promise<Address | null> {
  const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: part });
  const answer = await callAt(client, { to: settlement, data, gas: quantity(GAS) }, "latest").catch(
    (error: unknown) => {
      if (error instanceof RpcError) return "0x" as const;
      throw error;
    },
  );
  const address = parseAddress(answer);
  if (address === undefined) throw new NoSettlement(`there is no settlement contract at ${settlement}`);
  return address;
}

/** The node answered, and there is no such contract: not yet, or not at all. */
export class NoSettlement extends ChainUnavailable {}
