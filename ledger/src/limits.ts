/** The limits of the ledger. */

/** Maximum requests in flight of one account. */
export const MAX_IN_FLIGHT = 32;
/** The part of the ceiling that one account may hold at a time, in percent. */
export const CEILING_SHARE_PERCENT = 20;
/** Agents that are asked to serve a request before the protocol does. */
export const MAX_AGENTS_TRIED = 2;
/** How much higher an offer's nonce may be than the last one of its agent. */
export const MAX_NONCE_STEP = 2 ** 20;
export const MAX_KEYS_PER_ACCOUNT = 100;
/**
 * How long a key waits for its account's first credit. Keys are often created before the dollars arrive, which can take
 * as long as the bridge can be paused: a week. The key is then kept for another 48 hours.
 */
export const UNPAID_KEY_MS = 7 * 24 * 3_600_000;
/** How long a request can be in flight: twice its lease and the sweeper's time. */
export const MAX_FLIGHT_MS = 3_600_000;
/** A partition refuses a request whose time differs more than this from its clock. */
export const MAX_CLOCK_SKEW_MS = 60_000;
/** How long the outcome of a command is kept. The skew above refuses older commands. */
export const OUTCOME_RETENTION_MS = 48 * 3_600_000;
