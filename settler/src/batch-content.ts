import { settledUse } from "@inference/ledger/settled-use";
import type { UseRow } from "@inference/ledger/tables";
import { entriesDigest } from "@inference/protocol/batch-entries";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Settlement } from "@inference/protocol/use-leaf";
import { useTree } from "@inference/protocol/use-tree";
import { dayNumber } from "@inference/protocol/window";
import type { Hex } from "viem";

/** What a batch says on chain: its entries, and the Merkle root of all its uses. */
export type BatchContent = {
  root: Hex;
  /** In the order in which the contract takes them: debits, then serves. */
  entries: readonly Entry[];
  amountNanoUsd: NanoUsd;
  /** `entriesDigest`. */
  digest: Hex;
};

/** The uses of an account that one server served: a serve of an agent on a day, or a debit. */
export type Entry = {
  account: Address;
  served: { agent: Address; day: number } | undefined;
  amountNanoUsd: bigint;
  uses: readonly UseRow[];
};

/** @param uses At least one, of one journal. Their order does not change the root. */
export function contentOf(settlement: Settlement, batch: number, uses: readonly UseRow[]): BatchContent {
  const groups = Map.groupBy(uses, ({ account, server, offer }) => `${account} ${offer === null ? "" : server}`);
  const all = [...groups.values()].map(entryOf);
  const entries = [...all.filter(({ served }) => !served), ...all.filter(({ served }) => served)];
  const settled = uses.map((use) => settledUse(batch, use));
  return {
    root: useTree(settlement, settled).root,
    entries,
    amountNanoUsd: Number(entries.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)),
    digest: entriesDigest(entries),
  };
}

function entryOf(uses: readonly UseRow[]): Entry {
  const [{ account = "", server = "", offer = null, admittedAt = 0 } = {}] = uses;
  const amountNanoUsd = uses.reduce((sum, { chargeNanoUsd }) => sum + BigInt(chargeNanoUsd), 0n);
  const served = offer === null ? undefined : { agent: server as Address, day: dayNumber(admittedAt) };
  return { account: account as Address, served, amountNanoUsd, uses };
}
