/** The limits of the ledger. */

/** Maximum requests in flight of one account. */
export const MAX_IN_FLIGHT = 32;
/** Maximum transactions of the settler that are not final. */
export const MAX_TRANSACTIONS = 64;
/** The part of the free ceiling that one account may be allowed beyond what it used, in percent. */
export const CEILING_SHARE_PERCENT = 20;
/** An allowance taken in pieces is lowered so long after it was raised. */
export const ALLOWANCE_MS = 60_000;
/** Allowances that stay until the day is over are within this part of the ceiling, in percent. */
export const STAYING_PERCENT = 5;
/** Allowances that stayed are lowered within this time after midnight, so that not all accounts tell at once. */
export const STAYED_MS = 30 * 60_000;
/** How often a reserve asks the shared limits before it is refused. Other requests' asks can make one ask again. */
export const MAX_ASKS = 8;
/** Agents that are asked to serve a request before the protocol does. */
export const MAX_AGENTS_TRIED = 2;
/** Totals by model and tag that a key has in a day. Further tags of each model share one total. */
export const MAX_TAGS = 32;
/** How much higher an offer's nonce may be than the last one of its agent. */
export const MAX_NONCE_STEP = 2 ** 20;
export const MAX_KEYS_PER_ACCOUNT = 100;
export const MAX_WEBHOOKS_PER_ACCOUNT = 3;
/** Maximum notices of an account: `withNotices` says which one a further one drops. */
export const MAX_NOTICES = 50;
/** How long a notice that is over stays in the log. */
export const NOTICE_LOG_MS = 7 * 24 * 3_600_000;
/** The waits after each failed try of a notice. It is given up after one more: eight tries within a day. */
export const NOTICE_WAITS_MS: readonly number[] = [5, 300, 1_800, 7_200, 18_000, 28_800, 28_800].map((s) => s * 1_000);
/**
 * How long a key waits for its account's first credit. Keys are often created before the dollars arrive, which can take
 * as long as the bridge can be paused: a week. The key is then kept for another 48 hours.
 */
export const UNPAID_KEY_MS = 7 * 24 * 3_600_000;
/** Uses of any amount are posted after this time. */
export const DUST_MS = 30 * 24 * 3_600_000;
/** An account tells its open statement again after this time, until it is final. */
export const TELL_AGAIN_MS = 60_000;
/** A partition refuses a request whose time differs more than this from its clock. */
export const MAX_CLOCK_SKEW_MS = 60_000;
/** How long the outcome of a command is kept. The skew above refuses older commands. */
export const OUTCOME_RETENTION_MS = 48 * 3_600_000;
