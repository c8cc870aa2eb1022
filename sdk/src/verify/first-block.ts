import type { Hex } from "viem";
import type { ChainClients, NodeOf } from "../chain-clients.ts";

/**
 * The first block that can have events of a contract, and the source of that number. A gateway that names a late block
 * hides events. So the node is asked whether the contract existed before, and then for its creation. If the node has no
 * old state, the gateway is the source.
 *
 * @param last The last block that is read.
 */
export async function firstBlockOf(
  { entry, reader, nodeOf }: ChainClients,
  address: Hex,
  last: bigint,
): Promise<{ start_block: number; by: NodeOf }> {
  const isThereAt = async (blockNumber: bigint) => ((await reader.getCode({ address, blockNumber })) ?? "0x") !== "0x";
  const named = BigInt(entry.start_block);
  const told = named > last ? last + 1n : named;
  let [free, there] = [0n, told];
  try {
    if (told > 0n && !(await isThereAt(told - 1n))) return { start_block: Number(told), by: nodeOf };
    if (told > 0n) there = told - 1n;
    while (free < there) {
      const middle = (free + there) / 2n;
      if (await isThereAt(middle)) there = middle;
      else free = middle + 1n;
    }
    return { start_block: Number(there), by: nodeOf };
  } catch {
    // The contract is older than the gateway says: all blocks are read.
    return there < told ? { start_block: 0, by: nodeOf } : { start_block: Number(told), by: "the gateway" };
  }
}
