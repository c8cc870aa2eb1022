import type { Abi, Address, ContractEventName, GetContractEventsReturnType } from "viem";
import type { KeeperChain } from "./keeper-chain.ts";

/** Blocks that are asked for at once. */
const MAX_BLOCKS = 2_000;
/** Blocks that are read anew each time: a reorganization may change them, and a node may not have them yet. */
const OVERLAP_BLOCKS = 64;

export type Events<A extends Abi, N extends ContractEventName<A>> = GetContractEventsReturnType<A, N, true>;

/**
 * All events of a kind, in order, read on from where the last call stopped. Those of late are read anew each time, as
 * new objects, and may belong to blocks that are no more at the next: whoever acts on one asks the contract first.
 */
export function createEventReader<const A extends Abi, const N extends ContractEventName<A>>(
  { settings, reader }: KeeperChain,
  source: { address: Address; abi: A; eventName: N },
): () => Promise<Events<A, N>> {
  const seen = new Map<string, Events<A, N>[number]>();
  let next = settings.startBlock;
  return async () => {
    const head = Number(await reader.getBlockNumber());
    const again = Math.max(settings.startBlock, next - OVERLAP_BLOCKS);
    for (const [id, { blockNumber }] of seen) if (blockNumber >= again) seen.delete(id);
    for (let from = again; from <= head; from += MAX_BLOCKS) {
      const to = Math.min(head, from + MAX_BLOCKS - 1);
      const range = { fromBlock: BigInt(from), toBlock: BigInt(to), strict: true } as const;
      const events = (await reader.getContractEvents({ ...source, ...range })) as Events<A, N>;
      for (const event of events) seen.set(`${event.transactionHash}:${event.logIndex}`, event);
      next = to + 1;
    }
    return [...seen.values()] as Events<A, N>;
  };
}
