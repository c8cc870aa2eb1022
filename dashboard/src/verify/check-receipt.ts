import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { isRequestId } from "@inference/protocol/id";
import { formatUsd } from "@inference/protocol/money";
import { leafOf, verifyUse } from "@inference/protocol/use-leaf";
import { chainClients } from "@inference/sdk/chain-clients";
import type { Connection } from "@inference/sdk/connection";
import { contractOn } from "@inference/sdk/directory";
import { type Receipt, readReceipt } from "@inference/sdk/spending";
import { settledUseOf } from "@inference/sdk/verify/settled-use";

export type Outcome = "pass" | "fail" | "skipped";
/** What was looked at, what was found, and whom one has to believe for it. */
export type Finding = { title: string; outcome: Outcome; detail: string; trusts: readonly string[] };

/**
 * Follows one receipt to the public record, by our own computation: its text to a leaf, the leaf to a root, and the
 * root to what the contract stores in a final block.
 *
 * @param reading Reads the receipt; its `chains` name the node.
 * @param of.node Whose node that is, for people.
 */
export async function checkReceipt(
  reading: Connection,
  { account, id, node }: { account: `0x${string}`; id: string; node: string },
): Promise<Finding[]> {
  const receipt = await readReceipt(reading, id);
  if (!isAsked(receipt, id)) {
    const detail = `You asked for ${id}, and the service answered with another receipt: ${receipt.id}.`;
    return [{ title: "The receipt", outcome: "fail", detail, trusts: [] }];
  }
  const charged = formatUsd(receipt.charge_nano_usd);
  const findings: Finding[] = [
    {
      title: "The receipt",
      outcome: "pass",
      detail: `${receipt.model ?? "A request"} of ${receipt.created_at}, charged $${charged}`,
      trusts: ["the service, for what it charged"],
    },
  ];
  const { settlement } = receipt;
  if (settlement === null || settlement.batch === null || settlement.proof === null || settlement.status !== "final") {
    const detail =
      settlement === null
        ? "The service says that nothing was charged to the balance, so nothing is settled."
        : settlement.status === "refused"
          ? "The service has set it aside: it was not settled."
          : "Its batch is not final in the public record yet: wait some minutes.";
    return [...findings, { title: "In the public record", outcome: "skipped", detail, trusts: [] }];
  }
  const { batch, proof } = settlement;
  const { entry, reader } = await chainClients(reading);
  const contract = { chainId: entry.chain_id, address: contractOn(reading, entry, "inferenceSettlement") };
  const use = settledUseOf(receipt, account, batch);
  const isLeaf = leafOf(contract, use) === settlement.leaf;
  findings.push({
    title: "Its fingerprint",
    outcome: isLeaf ? "pass" : "fail",
    detail: isLeaf
      ? "Receipt number, account, charge, day and server give the leaf that the service names."
      : "Receipt number, account, charge, day and server give another leaf than the service names.",
    trusts: [],
  });
  const final = await reader.getBlock({ blockTag: "finalized" });
  const root = await reader.readContract({
    ...{ address: contract.address, abi: inferenceSettlementAbi, functionName: "rootOf", args: [BigInt(batch)] },
    blockNumber: final.number,
  });
  const isStored = verifyUse(root, contract, use, proof as `0x${string}`[]);
  findings.push({
    title: "In the public record",
    outcome: isStored ? "pass" : "fail",
    detail: isStored
      ? `The leaf leads to the root of batch ${batch} that the contract stores, in a block that cannot be undone.`
      : `The leaf does not lead to the root of batch ${batch} that the contract stores (${root}).`,
    trusts: [node, "the service, for the contract's address"],
  });
  return findings;
}

/** An answer's own id is the provider's; a request id is ours, and no other field may have it. */
function isAsked({ id, upstream_id: upstreamId }: Receipt, asked: string): boolean {
  return isRequestId(asked) ? asked === id : asked === upstreamId;
}
