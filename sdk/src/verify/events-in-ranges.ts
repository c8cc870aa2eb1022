/** Events of all blocks up to one. A range that the node refuses, as public nodes do with long ones, is halved. */
export async function inRanges<E>(last: bigint, read: (from: bigint, to: bigint) => Promise<E[]>): Promise<E[]> {
  const range = async (from: bigint, to: bigint): Promise<E[]> => {
    try {
      return await read(from, to);
    } catch (error) {
      if (to - from < SMALLEST_RANGE) throw error;
      const middle = (from + to) / 2n;
      return [...(await range(from, middle)), ...(await range(middle + 1n, to))];
    }
  };
  return range(0n, last);
}

/** Blocks. A node that refuses so few does not answer such questions. */
const SMALLEST_RANGE = 500n;
