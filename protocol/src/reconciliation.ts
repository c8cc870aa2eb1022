import type { NanoUsd } from "./money.ts";

/** A day's debits from the ceiling, and their causes: `statements = debited - foreign`. */
export type Reconciliation = {
  /** The day's records that pay statements of this ledger. */
  statementsNanoUsd: NanoUsd;
  /** The contract's debits of the day. */
  debitedNanoUsd: NanoUsd;
  /** The day's records that pay no statement of this ledger: somebody else posted them, or a restore lost them. */
  foreignNanoUsd: NanoUsd;
  /** The accounts of `foreignNanoUsd`, at most `MOST_NAMED`. Absent: there is none. */
  foreignOf?: Readonly<Record<string, NanoUsd>>;
  chunks: number;
  /** The cost of the day's requests at list prices. Null or absent: it was not added up. */
  listedNanoUsd?: NanoUsd | null;
  /** The provider's charges for the day, by its own record. Absent: the record was not read. */
  providerNanoUsd?: NanoUsd;
};

/** A day with more such accounts names the first ones. */
export const MOST_NAMED = 50;
