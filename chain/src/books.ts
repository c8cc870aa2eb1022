import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Books } from "@inference/protocol/books";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { ContractFunctionReturnType } from "viem";
import { readBlock, readView } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";

const GAS = 500_000;

type BooksAnswer = ContractFunctionReturnType<typeof inferenceSettlementAbi, "view", "books">;

/** The books in the latest block, which the settlement contract returns in one answer. */
export async function readBooks(client: ChainClient, settlement: Address): Promise<Books> {
  const block = await readBlock(client, "latest");
  if (block === null) throw new ChainUnavailable("the node has no latest block");
  const view = { to: settlement, abi: inferenceSettlementAbi, functionName: "books", gas: GAS };
  const { backing, supply, credit, owed, lines } = await readView<BooksAnswer>(client, view, block);
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
