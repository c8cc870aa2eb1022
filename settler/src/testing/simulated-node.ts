import { type ChainClient, RpcError } from "@inference/chain/rpc";
import type { Hex } from "viem";
import type { Included, SimulatedBlock, SimulatedChain } from "./simulated-chain.ts";
import * as settlement from "./simulated-settlement.ts";

/** A node of a simulated chain: the methods that our code asks, answered as JSON-RPC has them. */
export type SimulatedNode = ChainClient & {
  /** So many blocks of the chain it has not seen yet. */
  lag: number;
};

type Parameters = { chain: SimulatedChain; seen: readonly SimulatedBlock[]; params: readonly unknown[] };
type Method = (parameters: Parameters) => unknown;

const BALANCE_WEI = 10n ** 19n;
const TIP_WEI = 1_000_000_000n;

export function createSimulatedNode(chain: SimulatedChain): SimulatedNode {
  return {
    lag: 0,
    async request(method, params) {
      const { blocks } = chain;
      const seen = blocks.slice(0, Math.max(1, blocks.length - this.lag));
      const answer = methods[method];
      if (answer === undefined) throw new TypeError(`the simulated node has no ${method}`);
      return answer({ chain, seen, params });
    },
  };
}

const methods: Readonly<Record<string, Method>> = {
  eth_chainId: ({ chain }) => quantity(chain.chainId),
  eth_blockNumber: ({ seen }) => quantity(seen.length - 1),
  eth_maxPriorityFeePerGas: () => quantity(TIP_WEI),
  eth_getBalance: () => quantity(BALANCE_WEI),
  eth_getBlockByNumber: (asked) => {
    const block = find(asked, asked.params[0]);
    if (block === undefined) return null;
    const { number, hash, parentHash, time, baseFee } = block;
    const numbers = { number: quantity(number), timestamp: quantity(time), baseFeePerGas: quantity(baseFee) };
    return { ...numbers, hash, parentHash };
  },
  eth_getTransactionCount: (asked) => {
    const [address, where] = asked.params;
    if (!isSettler(asked.chain, address)) return quantity(0);
    if (where !== "pending") return quantity(found(asked, where).nonce);
    let next = found(asked, "latest").nonce;
    while (asked.chain.pending.has(next)) next += 1;
    return quantity(next);
  },
  eth_call: (asked) => {
    const { from, data } = asked.params[0] as { from?: string; data: Hex };
    const block = found(asked, asked.params[1]);
    return answerOf(asked.chain, block, from, data);
  },
  eth_estimateGas: (asked) => {
    const { from, data } = asked.params[0] as { from?: string; data: Hex };
    answerOf(asked.chain, found(asked, "latest"), from, data);
    const chunk = settlement.chunkOf(data);
    if (chunk === undefined) throw new TypeError("the simulated node estimates the gas of chunks only");
    return quantity(settlement.gasOf(chunk));
  },
  eth_sendRawTransaction: async ({ chain, params }) => {
    const answer = await chain.send(params[0] as Hex);
    if ("refused" in answer) throw new RpcError(-32_000, answer.refused);
    return answer.hash;
  },
  eth_getTransactionReceipt: ({ seen, params, chain }) => {
    for (const block of seen.toReversed()) {
      const transaction = block.transactions.find(({ hash }) => hash === params[0]);
      if (transaction !== undefined) return receiptOf(chain, block, transaction);
    }
    return null;
  },
  eth_getLogs: ({ chain, seen, params }) => {
    const { fromBlock, toBlock, topics = [], address } = params[0] as Filter;
    const isOurs = [address].flat().some((one) => one?.toLowerCase() === chain.settlement.toLowerCase());
    const [from, to] = [Number(fromBlock), Number(toBlock)];
    const blocks = isOurs ? seen.filter(({ number }) => from <= number && number <= to) : [];
    return blocks.flatMap((block) => logsOf(chain, block)).filter((log) => matches(log.topics, topics));
  },
};

type Filter = {
  fromBlock: Hex;
  toBlock: Hex;
  address?: string | string[];
  topics?: readonly (Hex | readonly Hex[] | null)[];
};

/** The receipt of a transaction in a block, also in a replaced one. */
export function receiptOf(chain: SimulatedChain, block: SimulatedBlock, { hash, isSuccess, chunk }: Included): object {
  return {
    ...{ transactionHash: hash, blockHash: block.hash, blockNumber: quantity(block.number) },
    ...{ from: chain.settler, to: chain.settlement, status: quantity(isSuccess ? 1 : 0) },
    gasUsed: quantity(chunk === undefined ? 21_000n : settlement.gasOf(chunk)),
    logs: logsOf(chain, block).filter(({ transactionHash }) => transactionHash === hash),
  };
}

function logsOf(chain: SimulatedChain, { number, hash, logs }: SimulatedBlock) {
  return logs.map(({ topics, data, transaction }, index) => ({
    ...{ address: chain.settlement, topics, data, transactionHash: transaction, removed: false },
    ...{ blockNumber: quantity(number), blockHash: hash, logIndex: quantity(index) },
  }));
}

function matches(topics: readonly Hex[], wanted: NonNullable<Filter["topics"]>): boolean {
  return wanted.every((one, at) => one === null || [one].flat().includes(topics[at] as Hex));
}

function answerOf(chain: SimulatedChain, block: SimulatedBlock, from: string | undefined, data: Hex): Hex {
  const terms = { isSettler: isSettler(chain, from), block: BigInt(block.number), time: BigInt(block.time) };
  const answer = settlement.call(block.state, data, terms);
  if ("revert" in answer) throw new RpcError(3, "execution reverted", answer.revert);
  return answer.result;
}

/** A number, a name, or a hash with `requireCanonical`. */
function find({ seen, chain }: Parameters, which: unknown): SimulatedBlock | undefined {
  if (which === "latest") return seen.at(-1);
  if (which === "finalized") return seen[chain.finalOf(seen.length - 1)];
  if (typeof which === "string") return seen[Number(which)];
  const { blockHash } = which as { blockHash: Hex };
  return seen.find(({ hash }) => hash === blockHash);
}

function found(asked: Parameters, which: unknown): SimulatedBlock {
  const block = find(asked, which);
  if (block === undefined) throw new RpcError(-32_001, "header not found");
  return block;
}

function isSettler({ settler }: SimulatedChain, address: unknown): boolean {
  return String(address).toLowerCase() === settler.toLowerCase();
}

function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}
