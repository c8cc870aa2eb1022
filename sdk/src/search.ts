import type { PublicClient } from "viem";
import { type BlockRange, inRanges } from "./verify/events-in-ranges.ts";

/**
 * Makes a repeatable search for an event. Each search reads the new blocks and those that the chain may have replaced,
 * in ranges that the node answers.
 */
export function searchFrom<E>(
  reader: Pick<PublicClient, "getBlockNumber">,
  fromBlock: bigint,
  read: (range: BlockRange) => Promise<E[]>,
): () => Promise<E[]> {
  let first = fromBlock;
  return async () => {
    const last = await reader.getBlockNumber();
    const ranges = { start_block: Number(first) };
    const found = await inRanges(ranges, last, read);
    if (last - REPLACED_BLOCKS > first) first = last - REPLACED_BLOCKS;
    return found;
  };
}

/** The latest blocks that are read again, because a chain may replace them. */
const REPLACED_BLOCKS = 1_000n;
