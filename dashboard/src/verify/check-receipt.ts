import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { isRequestId } from "@inference/protocol/id";
import { makeMerkleRoot, pureKeccak, verifyProof } from "@inference/protocol/merkle-tree";
import { formatUsd } from "@inference/protocol/money";
import { makeLeafOf, type Settlement } from "@inference/protocol/use-leaf";
import { chainClients } from "@inference/sdk/chain-clients";
import type { Connection } from "@inference/sdk/connection";
import { contractOn } from "@inference/sdk/directory";
import { type Receipt, readReceipt, type StatementUse, statementUses } from "@inference/sdk/spending";
import { isInChunk, settledUseOf } from "@inference/sdk/verify/statements";
import { bytesToHex, type Hex, hexToBytes } from "viem";

export type Outcome = "pass" | "fail" | "skipped";
/** A check, its result, and the parties that the result relies on. */
export type Finding = { title: string; outcome: Outcome; detail: string; trusts: readonly string[] };

/**
 * Follows one receipt to the chain by our own computation: from its text to a leaf, from the leaf to the root of a
 * statement, and from the root to a debit in a chunk. The contract stores the chunk's root in a final block.
 *
 * @param reading Reads the receipt; its `chains` name the node.
 * @param of.node The node's name for people.
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
  if (settlement?.record == null || settlement.statement === null) {
    const detail =
      settlement === null
        ? "The service says that nothing was charged to the balance, so nothing is settled."
        : "Its statement is not final on the blockchain yet: wait for a day.";
    return [...findings, { title: "On the blockchain", outcome: "skipped", detail, trusts: [] }];
  }
  const { record, statement } = settlement;
  const { entry, reader } = await chainClients(reading);
  const contract = { chainId: entry.chain_id, address: contractOn(reading, entry, "inferenceSettlement") };
  const leaf = makeLeafOf(contract, account)(settledUseOf(billedUse(receipt)), statement.before_nano_usd);
  const isUnderRoot =
    settlement.proof === null
      ? await isRootOf(reading, { contract, account, leaf, settlement })
      : verifyProof(
          hexToBytes(record.root as Hex),
          leaf,
          settlement.proof.map((node) => hexToBytes(node as Hex)),
        );
  findings.push({
    title: "Its fingerprint",
    outcome: isUnderRoot ? "pass" : "fail",
    detail: isUnderRoot
      ? "Receipt number, account, charge, day, prices and server lead to the root of your statement."
      : "Receipt number, account, charge, day, prices and server do not lead to the root of your statement.",
    trusts: [],
  });
  const final = await reader.getBlock({ blockTag: "finalized" });
  const stored = { address: contract.address, abi: inferenceSettlementAbi, blockNumber: final.number } as const;
  const root = record.chunk.root as Hex;
  const block = await reader.readContract({ ...stored, functionName: "blockOf", args: [root] });
  const isStored = isInChunk(record, account, pureKeccak) && block > 0n;
  findings.push({
    title: "On the blockchain",
    outcome: isStored ? "pass" : "fail",
    detail: isStored
      ? `The debit of $${formatUsd(record.amount_nano_usd)} with this root is on chain, in block ${block}, for good.`
      : "The contract has no such debit of your account.",
    trusts: [node, "the service, for the contract's address"],
  });
  return findings;
}

function billedUse(receipt: Receipt): StatementUse {
  const { charge_nano_usd, created_at: at, id, offer, price_snapshot: snapshot, served_by: by, settlement } = receipt;
  return {
    ...{ id, offer, charge_nano_usd, charge: receipt.total_cost, ends_at_nano_usd: settlement?.ends_at_nano_usd ?? 0 },
    ...{ day_served: at.slice(0, 10), price_snapshot: snapshot ?? "", served_by: (by ?? "protocol") as "protocol" },
  };
}

type Under = {
  contract: Settlement;
  account: Hex;
  leaf: Uint8Array;
  settlement: NonNullable<Receipt["settlement"]>;
};

/** Whether all uses of a long statement, with this one, make its root. An API key sees only its own uses. */
async function isRootOf(reading: Connection, { contract, account, leaf, settlement }: Under): Promise<boolean> {
  const { record, statement } = settlement;
  if (record === null || statement === null) return false;
  const leafOf = makeLeafOf(contract, account);
  const tree = makeMerkleRoot(pureKeccak);
  let isAmong = false;
  for await (const use of statementUses(reading, statement.before_nano_usd)) {
    if (use.ends_at_nano_usd > statement.after_nano_usd) break;
    const each = leafOf(settledUseOf(use), statement.before_nano_usd);
    isAmong ||= bytesToHex(each) === bytesToHex(leaf);
    tree.add(each);
  }
  return isAmong && bytesToHex(tree.root()) === record.root;
}

/** An answer's own id is the provider's; a request id is ours, and no other field may have it. */
function isAsked({ id, upstream_id: upstreamId }: Receipt, asked: string): boolean {
  return isRequestId(asked) ? asked === id : asked === upstreamId;
}
