import type { Activation } from "@inference/ledger/commands";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { decodeEventLog, encodeFunctionData, type Hex, toEventSelector } from "viem";
import {
  type Block,
  callAt,
  parseHash,
  parseHex,
  parseObject,
  parseQuantity,
  parseWord,
  quantity,
} from "./chain-view.ts";
import { type ChainClient, ChainContradiction, RpcError } from "./rpc.ts";

/** The settlement contract as it is read: its events, and the sums it keeps of them. */
const ACTIVATED = toEventSelector("Activated(uint256,address,address,uint256,uint256,uint256,uint32,bytes32)");
/** `amount`, `totalActivated`, `creditAfter`, `srcEid`, `guid`: five words and the prefix. */
const ACTIVATED_DATA_LENGTH = 2 + 5 * 64;

/**
 * The `Activated` events of these blocks, in the order of the chain.
 *
 * @throws RpcError when the node refuses the range.
 */
export async function readActivations(
  client: ChainClient,
  query: { settlement: Address; from: number; to: number },
): Promise<Activation[]> {
  const filter = {
    address: query.settlement,
    topics: [ACTIVATED],
    fromBlock: quantity(query.from),
    toBlock: quantity(query.to),
  };
  const answer = await client.request("eth_getLogs", [filter]);
  if (!Array.isArray(answer)) throw new ChainUnavailable("the node answers with events that are no list");
  return answer.map((log) => parseActivated(parseObject(log), query));
}

/** How much was ever activated, as the contract itself counts; null where there is no contract yet. */
export type Totals = { activations: bigint; activatedToken: bigint } | null;

export async function readTotals(client: ChainClient, settlement: Address, block: Block): Promise<Totals> {
  const [activations, activatedToken] = await Promise.all([
    readUint(client, settlement, "activationCount", block),
    readUint(client, settlement, "totalActivated", block),
  ]);
  return activations === null || activatedToken === null ? null : { activations, activatedToken };
}

/** The ceiling of a day; null where there is no contract yet. */
export function readCeiling(client: ChainClient, settlement: Address, block: Block): Promise<bigint | null> {
  return readUint(client, settlement, "ceilingNanoUsd", block);
}

async function readUint(
  client: ChainClient,
  settlement: Address,
  functionName: "activationCount" | "totalActivated" | "ceilingNanoUsd",
  block: Block,
): Promise<bigint | null> {
  const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName });
  const answer = await callAt(client, { to: settlement, data }, block).catch((error: unknown) => {
    throw error instanceof RpcError
      ? new ChainUnavailable(`${functionName}: ${error.message}`, { cause: error })
      : error;
  });
  if (answer === "0x") return null;
  const value = parseWord(answer);
  if (value === undefined) throw new ChainUnavailable(`${functionName} answers with ${answer.slice(0, 100)}`);
  return value;
}

function parseActivated(
  log: Record<string, unknown>,
  { settlement, from, to }: { settlement: Address; from: number; to: number },
): Activation {
  const block = parseQuantity(log.blockNumber);
  const address = parseHex(log.address);
  const data = parseHex(log.data);
  const topics = Array.isArray(log.topics) ? log.topics.map(parseHash) : [];
  const isAsked =
    address === settlement.toLowerCase() &&
    topics[0] === ACTIVATED &&
    log.removed !== true &&
    block >= from &&
    block <= to;
  if (!isAsked || topics.length !== 4 || data.length !== ACTIVATED_DATA_LENGTH) {
    throw new ChainContradiction(`the node answers with an event of block ${block} that was not asked for`);
  }
  const { args } = decodeEventLog({
    abi: inferenceSettlementAbi,
    eventName: "Activated",
    topics: topics as [Hex, ...Hex[]],
    data,
  });
  return {
    id: Number(args.id),
    account: args.account.toLowerCase(),
    amountToken: args.amount.toString(),
    totalActivated: args.totalActivated.toString(),
    block,
    transaction: parseHash(log.transactionHash),
  };
}
