import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { isRequestId } from "@inference/protocol/id";
import { makeMerkleRoot, pureKeccak, verifyProof } from "@inference/protocol/merkle-tree";
import { formatUsd } from "@inference/protocol/money";
import { makeLeafOf, type Settlement } from "@inference/protocol/use-leaf";
import { chainClients } from "@inference/sdk/chain-clients";
import type { Connection } from "@inference/sdk/connection";
import { contractOn, isPinned } from "@inference/sdk/directory";
import { type Receipt, readReceipt, type StatementUse, statementUses } from "@inference/sdk/spending";
import type { Found } from "@inference/sdk/verify/found";
import { isInChunk, settledUseOf } from "@inference/sdk/verify/statements";
import { bytesToHex, type Hex, hexToBytes } from "viem";
import { when } from "../format.ts";

/** A check and its result. */
export type Finding = Found & { title: string };

const RECEIPT = "The receipt is the one you asked for";
const STORED = "The root is stored on chain";

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
    return [{ title: RECEIPT, outcome: "fail", detail, trusts: [] }];
  }
  const charged = formatUsd(receipt.charge_nano_usd);
  const findings: Finding[] = [
    {
      title: RECEIPT,
      outcome: "pass",
      detail: `${receipt.model ?? "A request"}, ${when(receipt.created_at)} UTC, charged $${charged}`,
      trusts: ["the service, for what it charged"],
    },
  ];
  const { settlement } = receipt;
  if (settlement?.record == null || settlement.statement === null) {
    const detail =
      settlement === null
        ? "The service says that nothing was charged to the balance, so nothing is settled."
        : "Its statement is in no final block yet. Check again in a day.";
    return [...findings, { title: STORED, outcome: "skipped", detail, trusts: [] }];
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
    title: "The charge leads to the root of its statement",
    outcome: isUnderRoot ? "pass" : "fail",
    detail: isUnderRoot
      ? "Receipt id, account, charge, day, prices and server hash to the statement's root."
      : "Receipt id, account, charge, day, prices and server do not hash to the statement's root.",
    trusts: [],
  });
  const final = await reader.getBlock({ blockTag: "finalized" });
  const stored = { address: contract.address, abi: inferenceSettlementAbi, blockNumber: final.number } as const;
  const root = record.chunk.root as Hex;
  const block = await reader.readContract({ ...stored, functionName: "blockOf", args: [root] });
  const isStored = isInChunk(record, account, pureKeccak) && block > 0n;
  findings.push({
    title: STORED,
    outcome: isStored ? "pass" : "fail",
    detail: isStored
      ? `Debited with $${formatUsd(record.amount_nano_usd)} in block ${block}, which is final.`
      : "The contract has no such debit of your account.",
    trusts: [
      node,
      ...(isPinned(reading, entry.chain_id, "inferenceSettlement") ? [] : ["the service, for the contract's address"]),
    ],
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
