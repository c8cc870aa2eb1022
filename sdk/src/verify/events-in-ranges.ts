import type { DirectoryChain } from "../directory.ts";

/** Both included. */
export type BlockRange = { fromBlock: bigint; toBlock: bigint };

/**
 * The events of a contract up to a block. A range that the node refuses, as public nodes do with long ones, is halved.
 *
 * @param chain Events before its first block are not read, so `firstBlockOf` checks the block that the gateway names.
 */
export async function inRanges<E>(
  chain: Pick<DirectoryChain, "start_block">,
  last: bigint,
  read: (range: BlockRange) => Promise<E[]>,
): Promise<E[]> {
  const range = async (from: bigint, to: bigint): Promise<E[]> => {
    try {
      return await read({ fromBlock: from, toBlock: to });
    } catch (error) {
      if (to - from < SMALLEST_RANGE) throw error;
      const middle = (from + to) / 2n;
      return [...(await range(from, middle)), ...(await range(middle + 1n, to))];
    }
  };
  const first = BigInt(chain.start_block);
  return first > last ? [] : range(first, last);
}

/** In blocks. A node that refuses this range serves no logs. */
const SMALLEST_RANGE = 500n;
