import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { type Hash, parseEventLogs, type TransactionReceipt } from "viem";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ContractError } from "./errors.ts";
import { pause } from "./pause.ts";
import { searchFrom } from "./search.ts";

export type ArrivalOptions = {
  /** Called once if the tokens have arrived and wait for the day's cap or the chain's dollars. */
  onWaiting?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
};

/** Waits until bridged tokens are on the other chain. Throws `ContractError` if the timelock removed them. */
export async function untilArrived(
  connection: Connection,
  { fromChainId, toChainId, hash }: { fromChainId: number; toChainId: number; hash: Hash },
  { onWaiting, signal }: ArrivalOptions = {},
): Promise<{ hash: Hash }> {
  const from = await chainClients(connection, fromChainId);
  const receipt = await from.reader.getTransactionReceipt({ hash });
  const search = await arrivalSearch(connection, { from, toChainId, receipt });
  for (let isTold = false; ; await pause(connection.pollMs, signal)) {
    const found = await search();
    if (found?.stage === "delivered") return { hash: found.hash };
    if (found?.stage === "waiting" && !isTold) {
      isTold = true;
      onWaiting?.();
    }
  }
}

/** A message of the bridge on the other chain: waiting, or executed. */
export type Arrival = { stage: "waiting" | "delivered"; hash: Hash; block: bigint };

/**
 * Makes a search for the message that a transaction sent. It gives null while the other chain has not got it, and
 * throws `ContractError` if the timelock has removed it.
 */
export async function arrivalSearch(
  connection: Connection,
  given: { from: ChainClients; toChainId?: number; receipt: TransactionReceipt },
): Promise<() => Promise<Arrival | null>> {
  const { from, receipt } = given;
  const { blockNumber, logs, transactionHash: hash } = receipt;
  const [sent] = parseEventLogs({ abi: tokenBridgeAbi, eventName: "Sent", logs });
  if (sent === undefined) throw new ContractError(`The transaction ${hash} has bridged nothing.`, { hash });
  const to = await chainClients(connection, given.toChainId);
  const { timestamp } = await from.reader.getBlock({ blockNumber });
  const event = {
    ...{ address: contractOn(connection, to.entry, "tokenBridge"), abi: tokenBridgeAbi },
    args: { guid: sent.args.guid },
  } as const;
  const search = searchFrom(to.reader, await blockBefore(to, timestamp), async (range) => {
    const [delivered, discarded, waiting] = await Promise.all([
      to.reader.getContractEvents({ ...event, ...range, eventName: "Delivered" }),
      to.reader.getContractEvents({ ...event, ...range, eventName: "Discarded" }),
      to.reader.getContractEvents({ ...event, ...range, eventName: "Waiting" }),
    ]);
    return [...delivered, ...discarded, ...waiting];
  });
  return async () => {
    const found = await search();
    const last = (["Delivered", "Discarded", "Waiting"] as const)
      .map((name) => found.find(({ eventName }) => eventName === name))
      .find((each) => each !== undefined);
    if (last === undefined) return null;
    if (last.eventName === "Discarded") {
      throw new ContractError("The timelock has removed the tokens on their way.", { hash });
    }
    const stage = last.eventName === "Delivered" ? "delivered" : "waiting";
    return { stage, hash: last.transactionHash, block: last.blockNumber };
  };
}

/** How far the clocks of two chains may be apart. */
const SKEW_S = 3_600n;

/** A block shortly before the transaction's time, so that few blocks are searched. */
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
