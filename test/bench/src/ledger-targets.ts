import type { LedgerTarget } from "./ledger-target.ts";
import { ourLedger } from "./our-ledger-target.ts";
import { sqlite } from "./sqlite-target.ts";

/** All that are compared, the yardstick first. */
export const ledgerTargets: readonly LedgerTarget[] = [sqlite, ourLedger];
