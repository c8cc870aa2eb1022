import type { NanoUsd } from "./money.ts";

/** What became of the charges for a UTC day's prepaid requests. All amounts but the last ones should agree. */
export type Reconciliation = {
  /** What accounts were charged. Null: the host does not add it up. */
  accountsNanoUsd: NanoUsd | null;
  journalNanoUsd: NanoUsd;
  /** Of settled batches with these uses; what the chain debited for them, and what of it on a later day. */
  batchesNanoUsd: NanoUsd;
  debitedNanoUsd: NanoUsd;
  carriedNanoUsd: NanoUsd;
  /** Not final yet: in a batch, and in none. */
  onTheirWayNanoUsd: NanoUsd;
  waitingNanoUsd: NanoUsd;
  /** Refused by the contract, or given up by a rebuild. */
  setAsideNanoUsd: NanoUsd;
  /** Paid from the day's ceiling by batches that are not ours. Absent from older records. */
  foreignNanoUsd?: NanoUsd;
  uses: number;
  /** Of them, those that cost nothing and are in no batch. */
  freeUses: number;
};
