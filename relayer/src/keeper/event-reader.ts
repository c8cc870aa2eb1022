import type { Abi, Address, ContractEventName, GetContractEventsReturnType } from "viem";
import type { KeeperChain } from "./keeper-chain.ts";

/** Blocks that are asked for at once, and those that are read again lest a reorganization hide something. */
const MAX_BLOCKS = 2_000;
const OVERLAP_BLOCKS = 64;

export type Events<A extends Abi, N extends ContractEventName<A>> = GetContractEventsReturnType<A, N, true>;

/**
 * All events of a kind, read on from where the last call stopped. Some may belong to blocks that are no more: whoever
 * acts on one asks the contract first.
 */
export function createEventReader<const A extends Abi, const N extends ContractEventName<A>>(
  { settings, reader }: KeeperChain,
  source: { address: Address; abi: A; eventName: N },
): () => Promise<Events<A, N>> {
  const seen = new Map<string, Events<A, N>[number]>();
  let next = settings.startBlock;
  return async () => {
    const head = Number(await reader.getBlockNumber());
    for (let from = Math.max(settings.startBlock, next - OVERLAP_BLOCKS); from <= head; from += MAX_BLOCKS) {
      const to = Math.min(head, from + MAX_BLOCKS - 1);
      const range = { fromBlock: BigInt(from), toBlock: BigInt(to), strict: true } as const;
      const events = (await reader.getContractEvents({ ...source, ...range })) as Events<A, N>;
      for (const event of events) seen.set(`${event.transactionHash}:${event.logIndex}`, event);
      next = to + 1;
    }
    return [...seen.values()] as Events<A, N>;
  };
}
