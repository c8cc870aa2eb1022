import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { type Hash, parseEventLogs } from "viem";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ContractError } from "./errors.ts";
import { pause } from "./pause.ts";

export type ArrivalOptions = {
  /** They arrived, and wait until the day's cap or the chain's dollars cover them. Told once. */
  onWaiting?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** Waits until tokens that were bridged are on the other chain. Throws `ContractError` if the timelock removed them. */
export async function untilArrived(
  connection: Connection,
  { fromChainId, toChainId, hash }: { fromChainId: number; toChainId: number; hash: Hash },
  { onWaiting, signal }: ArrivalOptions = {},
): Promise<{ hash: Hash }> {
  const from = await chainClients(connection, fromChainId);
  const to = await chainClients(connection, toChainId);
  const { logs, blockNumber } = await from.reader.getTransactionReceipt({ hash });
  const [sent] = parseEventLogs({ abi: tokenBridgeAbi, eventName: "Sent", logs });
  if (sent === undefined) throw new ContractError(`The transaction ${hash} has bridged nothing.`, { hash });
  const { timestamp } = await from.reader.getBlock({ blockNumber });
  const fromBlock = await blockBefore(to, timestamp);
  const event = {
    ...{ address: contractOn(connection, to.entry, "tokenBridge"), abi: tokenBridgeAbi, fromBlock },
    args: { guid: sent.args.guid },
  } as const;
  for (let isTold = false; ; await pause(connection.pollMs, signal)) {
    const [delivered] = await to.reader.getContractEvents({ ...event, eventName: "Delivered" });
    if (delivered !== undefined) return { hash: delivered.transactionHash };
    const [discarded] = await to.reader.getContractEvents({ ...event, eventName: "Discarded" });
    if (discarded !== undefined) throw new ContractError("The timelock has removed the tokens on their way.", { hash });
    if (isTold) continue;
    const [waiting] = await to.reader.getContractEvents({ ...event, eventName: "Waiting" });
    isTold = waiting !== undefined;
    if (isTold) onWaiting?.();
  }
}

/** How far the clocks of two chains may be apart. */
const SKEW_S = 3_600n;

/** A block that is older than what can be about a transaction of that time, so that few blocks are searched. */
async function blockBefore({ reader }: ChainClients, timestamp: bigint): Promise<bigint> {
  let [first, last] = [0n, await reader.getBlockNumber()];
  while (first < last) {
    const middle = (first + last + 1n) / 2n;
    const block = await reader.getBlock({ blockNumber: middle });
    if (block.timestamp + SKEW_S < timestamp) first = middle;
    else last = middle - 1n;
  }
  return first;
}
