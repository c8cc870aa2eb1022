/**
 * The ledger's clock. It does not follow a wall clock that is set to another time: a request with such a time is
 * refused, so that no jump moves spending into another day. A new time is accepted after a minute.
 */
export function makeSteadyClock(options: {
  wall(): number;
  /** Ms since some moment. It is never set. */
  monotonic(): number;
  onJump(ms: number): void;
}): () => number {
  const { wall, monotonic, onJump } = options;
  let offset = wall() - monotonic();
  let jumped: { offset: number; since: number } | undefined;
  return function now() {
    const elapsed = monotonic();
    const current = wall() - elapsed;
    if (Math.abs(current - offset) <= MAX_DRIFT_MS) {
      offset = current;
      jumped = undefined;
    } else if (jumped === undefined || Math.abs(current - jumped.offset) > MAX_DRIFT_MS) {
      jumped = { offset: current, since: elapsed };
      onJump(Math.round(current - offset));
    } else if (elapsed - jumped.since >= BELIEVED_AFTER_MS) {
      offset = jumped.offset;
      jumped = undefined;
    }
    return Math.round(offset + elapsed);
  };
}

/** The largest difference between two reads that counts as a normal correction of the clock. */
const MAX_DRIFT_MS = 1_000;
const BELIEVED_AFTER_MS = 60_000;
