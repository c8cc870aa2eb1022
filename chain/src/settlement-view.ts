import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { askView, type Block, parseWord, type View } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";

/** The contract's own totals of all activations and debits; null if there is no contract yet. */
export type Totals = { activations: bigint; activatedToken: bigint; debitedNanoUsd: bigint } | null;

export async function readTotals(client: ChainClient, settlement: Address, block: Block): Promise<Totals> {
  const view = { to: settlement, abi: inferenceSettlementAbi };
  const names = ["activationCount", "totalActivated", "totalDebitedNanoUsd"] as const;
  const totals = await Promise.all(names.map((name) => readUint(client, { ...view, functionName: name }, block)));
  const [activations = null, activatedToken = null, debitedNanoUsd = null] = totals;
  const isThere = activations !== null && activatedToken !== null && debitedNanoUsd !== null;
  return isThere ? { activations, activatedToken, debitedNanoUsd } : null;
}

/** The ceiling in this block; null if there is no contract yet. */
export function readCeiling(client: ChainClient, settlement: Address, block: Block): Promise<bigint | null> {
  return readUint(client, { to: settlement, abi: inferenceSettlementAbi, functionName: "ceilingNanoUsd" }, block);
}

/**
 * Null if there is no contract yet.
 *
 * @throws ChainUnavailable also if the contract refuses the call.
 */
export async function readUint(client: ChainClient, view: View, block: Block | "latest"): Promise<bigint | null> {
  const answer = await askView(client, view, block);
  if (answer === "0x") return null;
  const value = parseWord(answer ?? "0x");
  if (value === undefined) throw new ChainUnavailable(`${view.to} answers with ${answer?.slice(0, 100) ?? "an error"}`);
  return value;
}
