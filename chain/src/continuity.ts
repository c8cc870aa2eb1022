import { readBlock } from "./chain-view.ts";
import type { Heads } from "./heads.ts";
import type { ChainClient } from "./rpc.ts";

/** How far a chain was read. */
export type Cursor = { block: number; blockHash: string };

/** Why reading cannot continue from a cursor: not now, or never. */
export type Obstacle = { outcome: "waiting" | "halted"; reason: string };

/** A node with a younger latest block is not behind. */
const FRESH_MS = 60_000;
/** The time for which a chain may be shorter than the ledger's copy: nodes behind one address differ for a moment. */
const SHORTER_MS = 15_000;

/** Checks that the cursor's block is still in the chain; undefined if it is. */
export function createContinuityCheck(options: {
  client: ChainClient;
  now(): number;
}): (cursor: Cursor, heads: Heads) => Promise<Obstacle | undefined> {
  const { client, now } = options;
  let shorterSince: number | undefined;

  return async ({ block, blockHash }, { latest, final }) => {
    if (latest.number < block) {
      const reason = `our books are ahead of the chain: they go to block ${block}, the chain to ${latest.number}`;
      if (now() - latest.at > FRESH_MS) return { outcome: "waiting", reason: `the node is behind: ${reason}` };
      shorterSince ??= now();
      return { outcome: now() - shorterSince < SHORTER_MS ? "waiting" : "halted", reason };
    }
    shorterSince = undefined;
    const found = await readBlock(client, block);
    if (found === null) return { outcome: "waiting", reason: `the node does not know block ${block}` };
    if (found.hash !== blockHash) {
      const reason = `the chain at block ${block} is not the one we read: ${found.hash}, not ${blockHash}`;
      return { outcome: "halted", reason };
    }
    if (final.number >= block) return undefined;
    return { outcome: "waiting", reason: `the node is behind: block ${final.number} is final, and ${block} was` };
  };
}
