import {
  type Block,
  callAt,
  parseHash,
  parseHex,
  parseObject,
  parseQuantity,
  parseWord,
  quantity,
  readBlock,
} from "@inference/chain/chain-view";
import { type ChainClient, RpcError } from "@inference/chain/rpc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { decodeErrorResult, encodeFunctionData, type Hex, type LocalAccount } from "viem";
import type { BatchContent } from "./batch-content.ts";

/** The settlement contract as its settler needs it: what was settled, and the next batch. */
export type SettlementContract = {
  /** The id of the last batch in a block. */
  batchCount(block: Block): Promise<number>;
  rootOf(batch: number, block: Block): Promise<Hex>;
  /** The ceiling of a day from that block on. */
  ceilingNanoUsd(block: Block): Promise<bigint>;
  /** What `settle` would say after a block: undefined if it would succeed. */
  simulate(call: Hex, block: Block | "latest"): Promise<Revert | undefined>;
  /** The account's next transaction number: `latest`, or in a block. */
  nextNonce(block: Block | "latest"): Promise<number>;
  /** Wei that a transaction may pay for a unit of gas to get in soon. */
  fees(): Promise<Fees>;
  /** Without `gas` the node estimates it, which it can for a call that succeeds. */
  sign(call: Hex, terms: { nonce: number; gas?: bigint } & Fees): Promise<Hex>;
  /** Whatever the node says: the receipt tells what became of it. */
  send(raw: Hex): Promise<void>;
  /** Null also for a receipt of another fork. */
  receipt(hash: Hex): Promise<Receipt | null>;
  balanceWei(): Promise<bigint>;
};

export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };
export type Receipt = { block: number; isSuccess: boolean };
/** Why the contract refuses a batch. Without a name it is none of its errors. */
export type Revert = { name?: string; args: readonly unknown[] };

/** EIP-7825. */
const MAX_TRANSACTION_GAS = 16_777_216n;
const DEFAULT_TIP_WEI = 1_000_000_000n;
/** A tip is at most so many times the base fee, or the usual tip where that is more: a node may ask for any. */
const MAX_TIP_OF_BASE = 4n;

export function settlementContract(options: {
  client: ChainClient;
  chainId: number;
  address: Address;
  account: LocalAccount;
}): SettlementContract {
  const { client, chainId, address, account } = options;
  const from = account.address;

  async function word(data: Hex, block: Block): Promise<bigint> {
    const answer = await callAt(client, { to: address, data }, block).catch((error: unknown) => {
      throw error instanceof RpcError ? new ChainUnavailable(error.message, { cause: error }) : error;
    });
    const value = parseWord(answer);
    if (value === undefined) throw new ChainUnavailable(`the settlement answers with ${answer.slice(0, 100)}`);
    return value;
  }

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      return await client.request(method, params);
    } catch (error) {
      throw error instanceof RpcError ? new ChainUnavailable(`${method}: ${error.message}`, { cause: error }) : error;
    }
  }

  async function generousGas(call: Hex): Promise<bigint> {
    const estimate = parseQuantity(await ask("eth_estimateGas", [{ from, to: address, data: call }, "latest"]));
    const generous = (BigInt(estimate) * 6n) / 5n;
    return generous > MAX_TRANSACTION_GAS ? MAX_TRANSACTION_GAS : generous;
  }

  return {
    batchCount: async (block) => Number(await word(encode("batchCount"), block)),
    ceilingNanoUsd: (block) => word(encode("ceilingNanoUsd"), block),
    async rootOf(batch, block) {
      const root = await word(encode("rootOf", [BigInt(batch)]), block);
      return `0x${root.toString(16).padStart(64, "0")}`;
    },
    async simulate(call, block) {
      try {
        await callAt(client, { from, to: address, data: call }, block);
        return undefined;
      } catch (error) {
        if (error instanceof RpcError) return revertOf(error);
        throw error;
      }
    },
    nextNonce: async (block) =>
      parseQuantity(await ask("eth_getTransactionCount", [from, block === "latest" ? block : quantity(block.number)])),
    async fees() {
      const block = parseObject(await ask("eth_getBlockByNumber", ["latest", false]));
      const asked = await client.request("eth_maxPriorityFeePerGas", []).then(
        (answer) => parseWei(answer),
        () => DEFAULT_TIP_WEI,
      );
      const base = parseWei(block.baseFeePerGas);
      const most = base * MAX_TIP_OF_BASE > DEFAULT_TIP_WEI ? base * MAX_TIP_OF_BASE : DEFAULT_TIP_WEI;
      const tip = asked < most ? asked : most;
      return { maxFeePerGas: base * 2n + tip, maxPriorityFeePerGas: tip };
    },
    async sign(call, { nonce, gas, maxFeePerGas, maxPriorityFeePerGas }) {
      return account.signTransaction({
        ...{ type: "eip1559", chainId, nonce, to: address, data: call, maxFeePerGas, maxPriorityFeePerGas },
        gas: gas ?? (await generousGas(call)),
      });
    },
    async send(raw) {
      try {
        await client.request("eth_sendRawTransaction", [raw]);
      } catch (error) {
        // It is known already, or priced too low by now, or the node does not answer.
        if (!(error instanceof RpcError) && !(error instanceof ChainUnavailable)) throw error;
      }
    },
    async receipt(hash) {
      const answer = await ask("eth_getTransactionReceipt", [hash]);
      if (answer === null) return null;
      const { blockNumber, blockHash, status, transactionHash } = parseObject(answer);
      if (parseHash(transactionHash) !== hash) throw new ChainUnavailable("the receipt is of another transaction");
      const block = parseQuantity(blockNumber);
      if ((await readBlock(client, block))?.hash !== parseHash(blockHash)) return null;
      return { block, isSuccess: parseQuantity(status) === 1 };
    },
    balanceWei: async () => parseWei(await ask("eth_getBalance", [from, "latest"])),
  };
}

/** @param day The day whose ceiling pays, in days since 1970. */
export function settleCall(batch: number, day: number, { root, entries }: BatchContent): Hex {
  const debits = entries.filter(({ served }) => served === undefined);
  const serves = entries.flatMap(({ served, ...entry }) => (served === undefined ? [] : { ...entry, ...served }));
  return encodeFunctionData({
    abi: inferenceSettlementAbi,
    functionName: "settle",
    args: [{ id: BigInt(batch), day: BigInt(day), root, debits, serves }],
  });
}

function encode(functionName: "batchCount" | "rootOf" | "ceilingNanoUsd", args: readonly bigint[] = []): Hex {
  return functionName === "rootOf"
    ? encodeFunctionData({ abi: inferenceSettlementAbi, functionName, args: [args[0] ?? 0n] })
    : encodeFunctionData({ abi: inferenceSettlementAbi, functionName });
}

function revertOf(error: RpcError): Revert {
  if (error.data === undefined) return { args: [error.message] };
  try {
    const { errorName, args = [] } = decodeErrorResult({ abi: inferenceSettlementAbi, data: error.data });
    return { name: errorName, args };
  } catch {
    return { args: [error.data] };
  }
}

/** A quantity that may exceed 2^53. Bytes have an even number of digits. */
function parseWei(value: unknown): bigint {
  const bytes = typeof value === "string" && value.length % 2 === 1 ? value.replace("0x", "0x0") : value;
  if (bytes === "0x") throw new ChainUnavailable("the node answers with 0x, which is not a number");
  return BigInt(parseHex(bytes));
}
