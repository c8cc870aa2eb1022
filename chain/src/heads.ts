import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type Block, readBlock } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";

/** The latest and the last final block of a chain. */
export type Heads = { latest: Block; final: Block };

/** `finalized`, or a number of blocks below the latest. With a number the operator bears the loss from a reorg. */
export type Confirmations = "finalized" | number;

/** @throws ChainUnavailable also if no block is final yet. */
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
  // The two answers came from different nodes behind one address.
  if (final.number > latest.number) {
    throw new ChainUnavailable(`the node says that block ${final.number} is final and ${latest.number} the latest`);
  }
  return { latest, final };
}
