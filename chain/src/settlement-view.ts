import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData, type Hex } from "viem";
import { type Block, callAt, parseWord } from "./chain-view.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

/** The contract's own totals of all activations and debits; null if there is no contract yet. */
export type Totals = { activations: bigint; activatedToken: bigint; debitedNanoUsd: bigint } | null;

export async function readTotals(client: ChainClient, settlement: Address, block: Block): Promise<Totals> {
  const names = ["activationCount", "totalActivated", "totalDebitedNanoUsd"] as const;
  const totals = await Promise.all(names.map((name) => readUint(client, settlement, dataOf(name), block)));
  const [activations = null, activatedToken = null, debitedNanoUsd = null] = totals;
  const isThere = activations !== null && activatedToken !== null && debitedNanoUsd !== null;
  return isThere ? { activations, activatedToken, debitedNanoUsd } : null;
}

/** The ceiling in this block; null if there is no contract yet. */
export function readCeiling(client: ChainClient, settlement: Address, block: Block): Promise<bigint | null> {
  return readUint(client, settlement, dataOf("ceilingNanoUsd"), block);
}

/** @throws ChainUnavailable also if the contract refuses the call. */
export async function readUint(
  client: ChainClient,
  to: Address,
  data: Hex,
  block: Block | "latest",
): Promise<bigint | null> {
  const answer = await callAt(client, { to, data }, block).catch((error: unknown) => {
    throw error instanceof RpcError ? new ChainUnavailable(error.message, { cause: error }) : error;
  });
  if (answer === "0x") return null;
  const value = parseWord(answer);
  if (value === undefined) throw new ChainUnavailable(`${to} answers with ${answer.slice(0, 100)}`);
  return value;
}

function dataOf(functionName: "activationCount" | "totalActivated" | "totalDebitedNanoUsd" | "ceilingNanoUsd"): Hex {
  return encodeFunctionData({ abi: inferenceSettlementAbi, functionName });
}
