/** The limits of the ledger. */

/** Maximum requests in flight of one account. */
export const MAX_IN_FLIGHT = 32;
/** The part of the ceiling that one account may hold at a time, in percent. */
export const CEILING_SHARE_PERCENT = 20;
/** How long an account admits requests from a block of the ceiling. */
export const BLOCK_MS = 60_000;
/**
 * An account draws a block if it has made so many requests in this time, or has them in flight. A block costs two calls
 * and its alarm, so it has to cover some requests before it saves anything.
 */
export const BLOCK_LEAST_REQUESTS = 4;
export const BLOCK_IDLE_MS = 10_000;
/** A block is for what is in flight, and for as much as is spent in this time. */
export const BLOCK_SPENDING_MS = 30_000;
/** A block is at most this part of what is left of the day, in percent. */
export const BLOCK_PERCENT = 1;
/** What all blocks hold of the ceiling at most, in percent, so that accounts that are idle block little. */
export const BLOCKS_PERCENT = 5;
/** With less than this left of the day, in percent of the ceiling, there are no blocks of accounts. */
export const BLOCK_LEAST_LEFT_PERCENT = 10;
/** The same of shards: without blocks the ceiling has to bear the requests of all of them. */
export const SHARD_LEAST_LEFT_PERCENT = 1;
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
