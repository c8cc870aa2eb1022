import { readBlock, readChainId } from "./chain-view.ts";
import { type ChainClient, ChainUnavailable } from "./rpc.ts";

/** A block known from elsewhere, old enough to be on every node. */
export type Anchor = { block: number; hash: string };

const CHECK_EVERY_MS = 3_600_000;

/**
 * Whether the node still speaks of our chain. The contract has the same address on several chains, so an activation on
 * another one, where a dollar may cost nothing, would look like one of ours.
 *
 * Answers what is wrong, for good; undefined if nothing is. Asks the node at first and then once an hour.
 */
export function createIdentityCheck(options: {
  client: ChainClient;
  chainId: number;
  anchor?: Anchor | undefined;
  now(): number;
}): () => Promise<string | undefined> {
  const { client, chainId, anchor, now } = options;
  let checkedAt = Number.NEGATIVE_INFINITY;

  return async () => {
    if (now() - checkedAt < CHECK_EVERY_MS) return undefined;
    const actual = await readChainId(client);
    if (actual !== chainId) return `the node is on chain ${actual}, not on chain ${chainId}`;
    if (anchor !== undefined) {
      const block = await readBlock(client, anchor.block);
      if (block === null) throw new ChainUnavailable(`the node does not know block ${anchor.block}, the anchor`);
      if (block.hash !== anchor.hash.toLowerCase()) {
        return `block ${anchor.block} is ${block.hash}, not the anchor ${anchor.hash}: this is another chain`;
      }
    }
    checkedAt = now();
    return undefined;
  };
}
