import { settledUse } from "@inference/ledger/settled-use";
import type { UseRow } from "@inference/ledger/tables";
import { entriesDigest } from "@inference/protocol/batch-entries";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Settlement } from "@inference/protocol/use-leaf";
import { useTree } from "@inference/protocol/use-tree";
import type { Hex } from "viem";

/** What a batch says on chain: the sum of each account's uses, and the Merkle root of all of them. */
export type BatchContent = {
  root: Hex;
  debits: readonly { account: Address; amountNanoUsd: bigint }[];
  amountNanoUsd: NanoUsd;
  /** `entriesDigest`. */
  entries: Hex;
};

/** @param uses At least one. Their order does not change the content. */
export function contentOf(settlement: Settlement, batch: number, uses: readonly UseRow[]): BatchContent {
  const sums = new Map<string, bigint>();
  for (const { account, chargeNanoUsd } of uses) {
    sums.set(account, (sums.get(account) ?? 0n) + BigInt(chargeNanoUsd));
  }
  const debits = [...sums].map(([account, amountNanoUsd]) => ({ account: account as Address, amountNanoUsd }));
  const total = debits.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  const settled = uses.map((use) => settledUse(batch, use));
  return {
    root: useTree(settlement, settled).root,
    debits,
    amountNanoUsd: Number(total),
    entries: entriesDigest(debits),
  };
}
