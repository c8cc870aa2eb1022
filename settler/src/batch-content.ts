import type { UseRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { RequestId } from "@inference/protocol/id";
import type { NanoUsd } from "@inference/protocol/money";
import { leafOf, type SettledUse, type Settlement } from "@inference/protocol/use-leaf";
import { DAY_MS } from "@inference/protocol/window";
import { SimpleMerkleTree } from "@openzeppelin/merkle-tree";
import type { Hex } from "viem";

/** What a batch says on chain: the sum of each account's uses, and the Merkle root of all of them. */
export type BatchContent = {
  root: Hex;
  debits: readonly { account: Address; amountNanoUsd: bigint }[];
  amountNanoUsd: NanoUsd;
};

/** @param uses At least one. Their order does not change the content. */
export function contentOf(settlement: Settlement, batch: number, uses: readonly UseRow[]): BatchContent {
  const sums = new Map<string, bigint>();
  for (const { account, chargeNanoUsd } of uses) {
    sums.set(account, (sums.get(account) ?? 0n) + BigInt(chargeNanoUsd));
  }
  const debits = [...sums].map(([account, amountNanoUsd]) => ({ account: account as Address, amountNanoUsd }));
  const total = debits.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  return { root: treeOf(settlement, batch, uses).root as Hex, debits, amountNanoUsd: Number(total) };
}

/** The proof of one use of a batch: `verifyUse` and the contract's `verify` take it. */
export function proofOf(settlement: Settlement, batch: number, uses: readonly UseRow[], use: UseRow): Hex[] {
  const leaf = leafOf(settlement, settledUse(batch, use));
  return treeOf(settlement, batch, uses).getProof(leaf) as Hex[];
}

export function settledUse(batch: number, { id, account, chargeNanoUsd, admittedAt }: UseRow): SettledUse {
  return {
    batch,
    account: account as Address,
    receipt: id as RequestId,
    costNanoUsd: chargeNanoUsd,
    dayServed: dayNumber(admittedAt),
  };
}

/** A UTC day as the contract counts it: days since 1970. */
export function dayNumber(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

function treeOf(settlement: Settlement, batch: number, uses: readonly UseRow[]): SimpleMerkleTree {
  return SimpleMerkleTree.of(uses.map((use) => leafOf(settlement, settledUse(batch, use))));
}
