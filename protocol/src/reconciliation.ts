import type { NanoUsd } from "./money.ts";

/** A day's debits from the ceiling, and their causes: `uses = statements = debited - foreign`. */
export type Reconciliation = {
  /** The charges in the leaves of the day's statements. Null: the host does not add it up. */
  usesNanoUsd: NanoUsd | null;
  /** The day's records that pay statements of this ledger. */
  statementsNanoUsd: NanoUsd;
  /** The contract's debits of the day. */
  debitedNanoUsd: NanoUsd;
  /** The day's records that pay no statement of this ledger: somebody else posted them, or a restore lost them. */
  foreignNanoUsd: NanoUsd;
  chunks: number;
};
