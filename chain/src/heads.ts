import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type Block, readBlock } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";

/** How far a chain has come, and how far we may believe it. */
export type Heads = { latest: Block; final: Block };

/** `finalized`, or as many blocks below the latest: nearer, for an operator who bears what a reorg takes away. */
export type Confirmations = "finalized" | number;

/** @throws ChainUnavailable also when nothing is final yet. */
export async function readHeads(client: ChainClient, confirmations: Confirmations): Promise<Heads> {
  if (confirmations === "finalized") {
    const [latest, final] = await Promise.all([readBlock(client, "latest"), readBlock(client, "finalized")]);
    return headsOf(latest, final);
  }
  const latest = await readBlock(client, "latest");
  // The first block of a chain is final.
  return headsOf(latest, await readBlock(client, Math.max(0, (latest?.number ?? 0) - confirmations)));
}

function headsOf(latest: Block | null, final: Block | null): Heads {
  if (latest === null || final === null) throw new ChainUnavailable("the node knows no final block yet");
  // Two nodes behind one address, and the answer came from one of each.
  if (final.number > latest.number) {
    throw new ChainUnavailable(`the node says that block ${final.number} is final and ${latest.number} the latest`);
  }
  return { latest, final };
}
