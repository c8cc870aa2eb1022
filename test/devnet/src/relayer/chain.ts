import { receiptOf } from "@inference/contracts/receipt";
import { type Connection, connect } from "@inference/keeper/connection";
import type { Account, Address, Hex } from "viem";
import type { ChainSettings } from "./settings.ts";

const MINED_MS = 20_000;

/** A chain as one worker sees it, through a node of its own. */
export type Chain = Connection & { settings: ChainSettings };

export function connectChain(settings: ChainSettings, options: { rpcUrl: string; account: Account }): Chain {
  return { settings, ...connect({ chainId: settings.chainId, ...options }) };
}

/** Throws {@link WrongChainError} unless the node is of the chain that it is said to be of. */
export async function checkChain({ reader, settings }: Chain): Promise<void> {
  const chainId = await reader.getChainId();
  if (chainId !== settings.chainId) {
    throw new WrongChainError(`A node of chain ${settings.chainId} says that it is of chain ${chainId}.`);
  }
}

/** Waits until a transaction is in a block. Throws after 20 seconds: the worker then looks at its message again. */
export async function mined({ reader }: Connection, hash: Hex): Promise<void> {
  await receiptOf(reader, hash, MINED_MS);
}

/** Compares addresses however they are written. */
export function isSame(one: Address, other: Address): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

class WrongChainError extends Error {
  override readonly name = "WrongChainError";
}
