import type { Activation } from "@inference/ledger/commands";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData } from "viem";
import { type Block, callAt, parseWord } from "./chain-view.ts";
import { eventSource, readEvents } from "./events.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

/**
 * The `Activated` events of these blocks, in the order of the chain.
 *
 * @throws RpcError if the node refuses the range.
 */
export async function readActivations(
  client: ChainClient,
  query: { settlement: Address; from: number; to: number },
): Promise<Activation[]> {
  const activated = eventSource(query.settlement, inferenceSettlementAbi, "Activated");
  const events = await readEvents(client, [activated], query);
  return events.map(({ args, block, transaction }) => ({
    id: Number(args.id),
    account: args.account.toLowerCase(),
    amountToken: args.amount.toString(),
    totalActivated: args.totalActivated.toString(),
    block,
    transaction,
  }));
}

/** The contract's own totals of all activations and batches; null if there is no contract yet. */
export type Totals = { activations: bigint; activatedToken: bigint; batches: bigint; debitedNanoUsd: bigint } | null;

export async function readTotals(client: ChainClient, settlement: Address, block: Block): Promise<Totals> {
  const names = ["activationCount", "totalActivated", "batchCount", "totalDebitedNanoUsd"] as const;
  const totals = await Promise.all(names.map((name) => readUint(client, settlement, name, block)));
  const [activations = null, activatedToken = null, batches = null, debitedNanoUsd = null] = totals;
  const isThere = activations !== null && activatedToken !== null && batches !== null && debitedNanoUsd !== null;
  return isThere ? { activations, activatedToken, batches, debitedNanoUsd } : null;
}

/** The ceiling as it is in this block; null if there is no contract yet. */
export function readCeiling(client: ChainClient, settlement: Address, block: Block): Promise<bigint | null> {
  return readUint(client, settlement, "ceilingNanoUsd", block);
}

type Uint = "activationCount" | "totalActivated" | "batchCount" | "totalDebitedNanoUsd" | "ceilingNanoUsd";

export async function readUint(
  client: ChainClient,
  settlement: Address,
  functionName: Uint,
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
