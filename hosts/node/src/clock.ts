/**
 * The ledger's own clock: it goes on evenly while the wall clock may be set. A request that took its time from a wall
 * clock which jumped is then refused, so that no jump ever moves spending into another day. A new time that has held
 * for a minute is believed.
 */
export function makeSteadyClock(options: {
  wall(): number;
  /** Ms since some moment, never set. */
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

/** Between two looks at it, a clock that is merely corrected stays within this. */
const MAX_DRIFT_MS = 1_000;
const BELIEVED_AFTER_MS = 60_000;
