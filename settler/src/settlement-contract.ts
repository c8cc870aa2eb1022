import {
  askView,
  type Block,
  parseHex,
  parseObject,
  parseQuantity,
  parseWord,
  quantity,
} from "@inference/chain/chain-view";
import { type ChainClient, RpcError } from "@inference/chain/rpc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { encodeChunk, type SettleRecord } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { decodeErrorResult, encodeFunctionData, type Hex, toHex } from "viem";

/** The settlement contract and its settler's account, as a node shows them. Every method may throw ChainUnavailable. */
export type SettlementContract = {
  /** The amount left of a day's ceiling in the latest block; 0 for a day that the contract no longer takes. */
  roomNanoUsd(day: number): Promise<bigint>;
  /** The account's next nonce in a block, or after the node's pending transactions. */
  nextNonce(block: Block | "latest" | "pending"): Promise<number>;
  /** The gas that a call would use after the latest block, or the name of the error with which it would revert. */
  estimate(call: Call): Promise<{ gas: bigint } | { revert: string }>;
  /** Wei per unit of gas with which a transaction gets in soon. */
  fees(): Promise<Fees>;
  sign(call: Call, terms: { nonce: number; gas: bigint } & Fees): Promise<Hex>;
  /** Ignores the node's answer: only a block shows the fate of the transaction. */
  send(raw: Hex): Promise<void>;
  balanceWei(): Promise<bigint>;
};

export type Call = { to: Address; data: Hex };
export type SettlerTransaction = Call & Fees & { type: "eip1559"; chainId: number; nonce: number; gas: bigint };
/** The settler's key, or a service that has it. */
export type SettlerAccount = { address: Address; signTransaction(transaction: SettlerTransaction): Promise<Hex> };
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };

const DEFAULT_TIP_WEI = 1_000_000_000n;
/** A tip is at most this many times the base fee, or the default tip if that is more: a node may ask for any. */
const MAX_TIP_OF_BASE = 4n;

export function settlementContract(options: {
  client: ChainClient;
  chainId: number;
  address: Address;
  account: SettlerAccount;
}): SettlementContract {
  const { client, chainId, address, account } = options;
  const from = account.address;

  /** Undefined if the contract reverts. */
  async function view(name: "ceilingOn" | "paidNanoUsd", day: number) {
    const view = { to: address, abi: inferenceSettlementAbi, functionName: name, args: [BigInt(day)] };
    const answer = await askView(client, view, "latest");
    if (answer === undefined) return undefined;
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

  return {
    async roomNanoUsd(day) {
      const [ceiling, paid] = await Promise.all([view("ceilingOn", day), view("paidNanoUsd", day)]);
      if (ceiling === undefined || paid === undefined || paid > ceiling) return 0n;
      return ceiling - paid;
    },
    nextNonce: async (block) =>
      parseQuantity(
        await ask("eth_getTransactionCount", [from, typeof block === "string" ? block : quantity(block.number)]),
      ),
    async estimate(call) {
      try {
        return { gas: parseWei(await client.request("eth_estimateGas", [{ from, ...call }, "latest"])) };
      } catch (error) {
        if (error instanceof RpcError) return { revert: revertOf(error) };
        throw error;
      }
    },
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
    sign: (call, terms) => account.signTransaction({ type: "eip1559", chainId, ...call, ...terms }),
    async send(raw) {
      try {
        await client.request("eth_sendRawTransaction", [raw]);
      } catch (error) {
        // It is known already, or priced too low by now, or the node does not answer.
        if (!(error instanceof RpcError) && !(error instanceof ChainUnavailable)) throw error;
      }
    },
    balanceWei: async () => parseWei(await ask("eth_getBalance", [from, "latest"])),
  };
}

/** @param day The day whose ceiling pays, in days since 1970. */
export function settleCall(settlement: Address, day: number, records: readonly SettleRecord[]): Call {
  const args = [day, toHex(encodeChunk(records))] as const;
  return { to: settlement, data: encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "settle", args }) };
}

/** The contract's error, or the node's message. */
function revertOf(error: RpcError): string {
  if (error.data === undefined) return error.message;
  try {
    return decodeErrorResult({ abi: inferenceSettlementAbi, data: error.data }).errorName;
  } catch {
    return error.data;
  }
}

/** A quantity that may exceed 2^53. Bytes have an even number of digits. */
function parseWei(value: unknown): bigint {
  const bytes = typeof value === "string" && value.length % 2 === 1 ? value.replace("0x", "0x0") : value;
  if (bytes === "0x") throw new ChainUnavailable("the node answers with 0x, which is not a number");
  return BigInt(parseHex(bytes));
}
