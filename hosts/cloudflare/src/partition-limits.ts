/** A statement with more is cut, so that hashing ends within an alarm: 5 s of processor time at most. */
export const MAX_USES = 100_000;
export const DELIVER_AGAIN_MS = 2_000;
export const SWEEP_AGAIN_MS = 5_000;
/**
 * The alarm ends a lapsed hold so long after its lease, unless a question to its object did before. An alarm at each
 * lease would be two row writes of each request of an account that rests. A day's last lease ends at 00:15, and the day
 * is reconciled at 06:00.
 */
export const SWEEP_WITHIN_MS = 5 * 3_600_000;
export const IDLE_MS = 10 * 60_000;
/** Keeping rows for another day costs less than an alarm every hour. */
export const FORGET_EVERY_MS = 24 * 3_600_000;
export const FORGET_CEILING_EVERY_MS = 3_600_000;
/** An alarm may run for 15 minutes. Forgetting ends before that, and the next alarm does the rest. */
export const FORGET_MS = 5 * 60_000;
/** The runtime's times end in 2262, but a key may expire in 9999. */
export const FARTHEST_MS = 10 * 365 * 24 * 3_600_000;
/** The runtime gives up a failing alarm after about two minutes. */
export const GIVEN_UP_MS = 3 * 60_000;
