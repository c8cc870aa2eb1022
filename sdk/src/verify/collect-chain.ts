import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { createPublicClient, type Hex, type PublicClient, type Transport } from "viem";
import { type NodeOf, requireChain } from "../chain-clients.ts";
import type { ChainEvidence, Evidence } from "./evidence.ts";

/** Reads an account and the chunks of its records from the settlement contract, in the last final block. */
export async function collectChain(
  { reader, nodeOf }: { reader: Pick<PublicClient, "getBlock" | "readContract">; nodeOf: NodeOf },
  { account, contract, said }: Pick<Evidence, "account" | "contract" | "said">,
): Promise<ChainEvidence> {
  const { number: blockNumber, timestamp } = await reader.getBlock({ blockTag: "finalized" });
  const settlement = { address: contract.address, abi: inferenceSettlementAbi, blockNumber } as const;
  const [activated, debited, served] = await reader.readContract({
    ...{ ...settlement, functionName: "accountOf", args: [account] },
  });
  const owedBack = await reader.readContract({ ...settlement, functionName: "owedBackNanoUsd", args: [account] });
  const receiptKey = await reader.readContract({ ...settlement, functionName: "receiptKey" });
  const blocks: Record<string, number> = {};
  for (const root of new Set(said.records.map(({ chunk }) => chunk.root))) {
    const query = { ...settlement, functionName: "blockOf", args: [root as Hex] } as const;
    blocks[root] = Number(await reader.readContract(query));
  }
  return {
    node: nodeOf,
    block: Number(blockNumber),
    at: new Date(Number(timestamp) * 1_000).toISOString(),
    activatedNanoUsd: String(activated),
    debitedNanoUsd: String(debited),
    servedNanoUsd: String(served),
    owedBackNanoUsd: String(owedBack),
    receiptKey,
    blocks,
  };
}

/** Reads the chain's part of stored evidence anew, from a node of the caller's. Needs no gateway. */
export async function askChain(evidence: Evidence, transport: Transport): Promise<Evidence> {
  const reader = createPublicClient({ transport });
  await requireChain(reader, evidence.contract.chainId);
  return { ...evidence, chain: await collectChain({ reader, nodeOf: "the client" }, evidence) };
}
