import type { Clock } from "../environment.ts";
import { BoundedMap } from "./bounded-map.ts";

/**
 * Paces the requests of a model by what the provider says is left of a key's requests. While nothing is left, requests
 * wait for the provider's reset.
 */
export type Pace = {
  /** Milliseconds until a request may be sent; 0: now. */
  waitMs(key: string, model: string): number;
  /** A request is about to be sent. Returns its number, for `answered`. */
  sent(key: string, model: string): number;
  answered(key: string, model: string, sentAs: number, rate: RateLimit): void;
};

/** The provider's limit for a key's requests of a model. */
export type RateLimit = {
  /** Requests of a whole period; null if unknown. */
  limit: number | null;
  remaining: number;
  /** Milliseconds until the next period. */
  resetMs: number;
};

type Known = { sent: number; left: number; limit: number; resetAt: number };

/** Periods are of a minute, unless an answer says otherwise. */
const PERIOD_MS = 60_000;
/** A reset that is further away is not a pace: a daily limit, or a unit that is read wrongly. */
const LONGEST_PERIOD_MS = 3_600_000;
const MAX_ENTRIES = 10_000;

export function makePace(clock: Clock): Pace {
  const entries = new BoundedMap<string, Known>(MAX_ENTRIES);

  function knownOf(key: string, model: string): Known {
    const name = `${key} ${model}`;
    const known = entries.get(name) ?? {
      ...{ sent: 0, left: Number.POSITIVE_INFINITY, limit: Number.POSITIVE_INFINITY },
      resetAt: Number.POSITIVE_INFINITY,
    };
    entries.set(name, known);
    const at = clock.now();
    // The clock may have gone back since.
    const isOver = at >= known.resetAt || known.resetAt - at > LONGEST_PERIOD_MS;
    if (isOver) Object.assign(known, { left: known.limit, resetAt: at + PERIOD_MS });
    return known;
  }

  return {
    waitMs(key, model) {
      const { left, resetAt } = knownOf(key, model);
      return left > 0 ? 0 : resetAt - clock.now();
    },
    sent(key, model) {
      const known = knownOf(key, model);
      known.left -= 1;
      known.sent += 1;
      return known.sent;
    },
    answered(key, model, sentAs, { limit, remaining, resetMs }) {
      const known = knownOf(key, model);
      // An answer of the last period, or of no pace.
      if (resetMs <= 0 || resetMs > LONGEST_PERIOD_MS) return;
      // The provider has not counted what was sent after this request.
      known.left = remaining - (known.sent - sentAs);
      known.limit = limit === null ? Number.POSITIVE_INFINITY : Math.max(1, limit);
      known.resetAt = clock.now() + resetMs;
    },
  };
}
