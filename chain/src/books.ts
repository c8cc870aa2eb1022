import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Books } from "@inference/protocol/books";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData } from "viem";
import { callAt, quantity, readBlock } from "./chain-view.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

const GAS = 500_000;
const WORD_LETTERS = 64;

/** Of the latest block, as the settlement contract tells them in one answer. */
export async function readBooks(client: ChainClient, settlement: Address): Promise<Books> {
  const block = await readBlock(client, "latest");
  if (block === null) throw new ChainUnavailable("the node has no latest block");
  const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "books" });
  const answer = await callAt(client, { to: settlement, data, gas: quantity(GAS) }, block).catch((error: unknown) => {
    if (error instanceof RpcError) return "0x";
    throw error;
  });
  if (answer.length !== 2 + 5 * WORD_LETTERS) throw new ChainUnavailable(`${settlement} does not tell its books`);
  const word = (index: number) => BigInt(`0x${answer.slice(2 + index * WORD_LETTERS).slice(0, WORD_LETTERS)}`);
  return {
    block: block.number,
    at: block.at,
    backingNanoUsd: word(0),
    supplyNanoUsd: word(1),
    creditNanoUsd: word(2),
    owedNanoUsd: word(3),
    linesNanoUsd: word(4),
  };
}
