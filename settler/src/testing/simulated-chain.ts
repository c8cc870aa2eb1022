import type { SettleRecord } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { type Hex, keccak256, parseTransaction, recoverTransactionAddress } from "viem";
import * as settlement from "./simulated-settlement.ts";

/**
 * A chain with the settlement contract and a mempool, without time of its own and without chance: its
 * callers cause every event. It knows the settler's transactions only. `simulated-node.ts` answers from it.
 */
export type SimulatedChain = {
  readonly settlement: Address;
  readonly settler: Address;
  readonly chainId: number;
  /** From the first to the latest. */
  readonly blocks: readonly SimulatedBlock[];
  /** The blocks that the last reorg replaced. */
  readonly orphans: readonly SimulatedBlock[];
  /** Transactions that wait for a block, by nonce. */
  readonly pending: ReadonlyMap<number, Pending>;
  /** The base fee of the next blocks, in wei. */
  baseFee: bigint;
  /** One block. `takes`: with the transactions that pay enough. */
  mine(options: { time: number; takes: boolean }): void;
  /** The last blocks are replaced by as many without transactions. `returns`: those wait again, else they are lost. */
  reorg(depth: number, options: { returns: boolean }): void;
  /** All that waits for a block is lost. */
  drop(): void;
  /** In the next block. */
  activate(account: Address, amountToken: bigint, from?: Address): void;
  setCeiling(toNanoUsd: bigint): void;
  /** Uses the settler's key elsewhere in the next block: for a chunk of that block's day, or for something else. */
  useKey(records: readonly SettleRecord[]): void;
  /** As a node takes a signed transaction: its hash, or why it is refused. */
  send(raw: Hex): Promise<{ hash: Hex } | { refused: string }>;
  /** The last final block of a chain that ends with the block at this place. */
  finalOf(head: number): number;
};

export type SimulatedBlock = {
  number: number;
  hash: Hex;
  parentHash: Hex;
  /** In seconds. */
  time: number;
  baseFee: bigint;
  /** The settler's next number. */
  nonce: number;
  state: settlement.SettlementState;
  transactions: readonly Included[];
  /** The logs of the block, in order. */
  logs: readonly (settlement.Log & { transaction: Hex })[];
};

/** `raw` is null for a transaction of somebody else, also of one who has the settler's key. */
export type Included = { hash: Hex; raw: Hex | null; isSuccess: boolean; chunk: settlement.Chunk | undefined };
export type Pending = {
  hash: Hex;
  raw: Hex;
  nonce: number;
  gas: bigint;
  maxFee: bigint;
  tip: bigint;
  chunk: settlement.Chunk | undefined;
};

type Change = (block: SimulatedBlock, hash: Hex) => SimulatedBlock;

export function createSimulatedChain(options: {
  settlement: Address;
  settler: Address;
  chainId: number;
  finalityDepth: number;
  /** The time of the first block, in seconds. */
  time: number;
}): SimulatedChain {
  const { settler, finalityDepth } = options;
  let made = 0;
  let changes: Change[] = [];
  let orphans: SimulatedBlock[] = [];
  const pending = new Map<number, Pending>();
  const known = new Map<Hex, Pending>();
  const blocks: SimulatedBlock[] = [
    {
      ...{ number: 0, hash: hashOf(0), parentHash: hashOf(0), time: options.time, baseFee: 1_000_000_000n, nonce: 0 },
      ...{ state: settlement.firstState, transactions: [], logs: [] },
    },
  ];
  const latest = (): SimulatedBlock => blocks.at(-1) as SimulatedBlock;

  function after(parent: SimulatedBlock, time: number): SimulatedBlock {
    made += 1;
    const { number, hash, nonce, state } = parent;
    return {
      ...{ number: number + 1, hash: hashOf(made), parentHash: hash, time: Math.max(time, parent.time + 1) },
      ...{ baseFee: chain.baseFee, nonce, state, transactions: [], logs: [] },
    };
  }

  function execute(block: SimulatedBlock, transaction: Omit<Included, "isSuccess"> & { gas?: bigint }): SimulatedBlock {
    const { gas, ...what } = transaction;
    const outcome = outcomeOf(block, what.chunk, gas);
    const isSuccess = "state" in outcome;
    return {
      ...block,
      ...(isSuccess ? { state: outcome.state } : {}),
      nonce: block.nonce + 1,
      transactions: [...block.transactions, { ...what, isSuccess }],
      logs: [...block.logs, ...(isSuccess ? outcome.logs : []).map((log) => ({ ...log, transaction: what.hash }))],
    };
  }

  /** A transaction without a chunk is a transfer. */
  function outcomeOf({ state, number, time }: SimulatedBlock, chunk?: settlement.Chunk, gas?: bigint) {
    if (chunk === undefined) return { state, logs: [] };
    if (gas !== undefined && gas < settlement.gasOf(chunk)) return { revert: "0x" as Hex };
    return settlement.settle(state, chunk, { isSettler: true, block: BigInt(number), time: BigInt(time) });
  }

  async function read(raw: Hex): Promise<Pending | undefined> {
    const hash = keccak256(raw);
    const found = known.get(hash);
    if (found !== undefined) return found;
    const from = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` });
    if (from.toLowerCase() !== settler.toLowerCase()) return undefined;
    const {
      to,
      data = "0x",
      nonce = 0,
      gas = 0n,
      maxFeePerGas = 0n,
      maxPriorityFeePerGas = 0n,
    } = parseTransaction(raw);
    const isOurs = to?.toLowerCase() === options.settlement.toLowerCase();
    const transaction: Pending = {
      ...{ hash, raw, nonce, gas, maxFee: maxFeePerGas, tip: maxPriorityFeePerGas },
      chunk: isOurs ? settlement.chunkOf(data) : undefined,
    };
    known.set(hash, transaction);
    return transaction;
  }

  const chain: SimulatedChain = {
    ...{ settlement: options.settlement, settler, chainId: options.chainId, blocks, pending },
    baseFee: 1_000_000_000n,
    get orphans() {
      return orphans;
    },
    mine({ time, takes }) {
      let block = after(latest(), time);
      for (const change of changes) {
        made += 1;
        block = change(block, hashOf(made));
      }
      changes = [];
      for (let next = pending.get(block.nonce); takes && next !== undefined; next = pending.get(block.nonce)) {
        if (next.maxFee < block.baseFee) break;
        const { hash, raw, gas, chunk } = next;
        block = execute(block, { hash, raw, gas, chunk });
      }
      for (const nonce of pending.keys()) if (nonce < block.nonce) pending.delete(nonce);
      blocks.push(block);
    },
    reorg(depth, { returns }) {
      orphans = blocks.splice(Math.max(this.finalOf(blocks.length - 1) + 1, blocks.length - depth));
      for (const { time } of orphans) blocks.push(after(latest(), time));
      if (!returns) return;
      for (const { hash } of orphans.flatMap(({ transactions }) => transactions)) {
        const transaction = known.get(hash);
        if (transaction !== undefined && !pending.has(transaction.nonce)) pending.set(transaction.nonce, transaction);
      }
    },
    drop: () => pending.clear(),
    activate(account, amountToken, from = account) {
      changes.push(changing((state) => settlement.activate(state, { account, from, amountToken })));
    },
    setCeiling(toNanoUsd) {
      changes.push(changing((state, time) => settlement.setCeiling(state, toNanoUsd, time)));
    },
    useKey(records) {
      changes.push((block, hash) => {
        const day = BigInt(Math.floor(block.time / 86_400));
        return execute(block, { hash, raw: null, chunk: records.length === 0 ? undefined : { day, records } });
      });
    },
    async send(raw) {
      const transaction = await read(raw);
      if (transaction === undefined) return { refused: "insufficient funds for gas * price + value" };
      const { hash, nonce, maxFee, tip } = transaction;
      if (nonce < latest().nonce) return { refused: "nonce too low" };
      const other = pending.get(nonce);
      if (other?.hash === hash) return { refused: "already known" };
      if (other !== undefined && (maxFee * 10n < other.maxFee * 11n || tip * 10n < other.tip * 11n)) {
        return { refused: "replacement transaction underpriced" };
      }
      pending.set(nonce, transaction);
      return { hash };
    },
    finalOf: (head) => Math.max(0, head - finalityDepth),
  };
  return chain;
}

/** The effect of a stranger's transaction on the contract. */
function changing(
  change: (
    state: settlement.SettlementState,
    time: bigint,
  ) => { state: settlement.SettlementState; logs: settlement.Log[] },
): Change {
  return (block, transaction) => {
    const { state, logs } = change(block.state, BigInt(block.time));
    return { ...block, state, logs: [...block.logs, ...logs.map((log) => ({ ...log, transaction }))] };
  };
}

/** No two blocks or transactions of a simulation have the same. */
function hashOf(count: number): Hex {
  return `0x51${count.toString(16).padStart(62, "0")}`;
}
