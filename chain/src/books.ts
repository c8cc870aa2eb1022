import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Books } from "@inference/protocol/books";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { decodeFunctionResult, encodeFunctionData } from "viem";
import { callAt, type Hex, quantity, readBlock } from "./chain-view.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

const GAS = 500_000;

/** The books in the latest block, which the settlement contract returns in one answer. */
export async function readBooks(client: ChainClient, settlement: Address): Promise<Books> {
  const block = await readBlock(client, "latest");
  if (block === null) throw new ChainUnavailable("the node has no latest block");
  const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "books" });
  const answer = await callAt(client, { to: settlement, data, gas: quantity(GAS) }, block).catch((error: unknown) => {
    if (error instanceof RpcError) return "0x" as const;
    throw error;
  });
  const { backing, supply, credit, owed, lines } = decoded(answer, settlement);
  return {
    block: block.number,
    at: block.at,
    backingNanoUsd: backing,
    supplyNanoUsd: supply,
    creditNanoUsd: credit,
    owedNanoUsd: owed,
    linesNanoUsd: lines,
  };
}

function decoded(answer: Hex, settlement: Address) {
  try {
    return decodeFunctionResult({ abi: inferenceSettlementAbi, functionName: "books", data: answer });
  } catch (error) {
    throw new ChainUnavailable(`${settlement} does not tell its books`, { cause: error });
  }
}
