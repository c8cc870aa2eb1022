/** Every limit of the ledger has a number, and here it is. */

/** Requests one account may have in flight. */
export const MAX_IN_FLIGHT = 32;
/** The part of the ceiling that one account may hold at a time, in percent. */
export const CEILING_SHARE_PERCENT = 20;
export const MAX_KEYS_PER_ACCOUNT = 100;
/**
 * How long a key waits for its account's first credit. Who signs before the dollars arrive is common, and they may take
 * as long as the bridge can be paused, a week; like all that is over, the key is kept for 48 hours more.
 */
export const UNPAID_KEY_MS = 7 * 24 * 3_600_000;
/** How long after its admission a request may be in flight: its lease, and the sweeper's time, twice over. */
export const MAX_FLIGHT_MS = 3_600_000;
/** A partition refuses to admit at a time further than this from its own clock. */
export const MAX_CLOCK_SKEW_MS = 60_000;
/** How long the outcome of a command is remembered. Older commands are refused by the skew above. */
export const OUTCOME_RETENTION_MS = 48 * 3_600_000;
