import type { PublicClient } from "viem";
import { inRanges } from "./verify/events-in-ranges.ts";

/**
 * Makes a search that is repeated while one waits for an event. Each one reads the blocks that are new since the last
 * one, and those that the chain may have replaced, in ranges that the node answers.
 */
export function searchFrom<E>(
  reader: Pick<PublicClient, "getBlockNumber">,
  fromBlock: bigint,
  read: (range: { fromBlock: bigint; toBlock: bigint }) => Promise<E[]>,
): () => Promise<E[]> {
  let first = fromBlock;
  return async () => {
    const last = await reader.getBlockNumber();
    const ranges = { start_block: Number(first) };
    const found = await inRanges(ranges, last, (from, to) => read({ fromBlock: from, toBlock: to }));
    if (last - REPLACED_BLOCKS > first) first = last - REPLACED_BLOCKS;
    return found;
  };
}

/** How many of the latest blocks are read again, since a chain may replace them. */
const REPLACED_BLOCKS = 1_000n;
