import { fail } from "@inference/protocol/errors";

/** Limits the requests a minute of each name. Counted in memory. */
export type Limiter = {
  /** Counts a request. Throws 429 `rate_limited` above the limit. */
  admit(name: string, atMs: number): void;
};

const MINUTE_MS = 60_000;
/** Maximum names in memory, because anyone can create names. Beyond it, an entry is dropped for each new name. */
const MAX_NAMES = 100_000;
/**
 * Entries that are looked at for one to drop, below half of its limit if possible: many new names reset nobody's count.
 */
const LOOKED_AT = 8;

/** A name's requests, less those that have expired since: `perMinute` of them expire each minute. */
type Count = { requests: number; at: number };

/**
 * A leaky bucket: a whole minute's requests may come at once, later ones at the rate of the limit.
 *
 * @param perMinute Null: no limit.
 */
export function makeLimiter(perMinute: number | null): Limiter {
  if (perMinute === null) return { admit: () => undefined };
  const counts = new Map<string, Count>();
  let hand = counts.entries();
  const perMs = perMinute / MINUTE_MS;
  const half = perMinute / 2;

  /** Expires requests. A clock that went back changes nothing. */
  function pass(count: Count, atMs: number): void {
    const passedMs = Math.max(0, atMs - count.at);
    count.requests = Math.max(0, count.requests - passedMs * perMs);
    count.at += passedMs;
  }

  /** Drops one entry. It starts where it stopped the last time, and looks at a few entries. */
  function forgetOne(atMs: number): void {
    for (let looked = 1; looked <= LOOKED_AT; looked++) {
      let next = hand.next();
      if (next.done) {
        hand = counts.entries();
        next = hand.next();
      }
      if (next.done) return;
      const [name, count] = next.value;
      pass(count, atMs);
      if (looked < LOOKED_AT && count.requests >= half) continue;
      counts.delete(name);
      return;
    }
  }

  return {
    admit(name, atMs) {
      let count = counts.get(name);
      if (count === undefined) {
        if (counts.size >= MAX_NAMES) forgetOne(atMs);
        count = { requests: 0, at: atMs };
        counts.set(name, count);
      }
      pass(count, atMs);
      const above = count.requests + 1 - perMinute;
      if (above > ROUNDING) tooMany(perMinute, Math.max(1, Math.ceil((above - ROUNDING) / perMs / 1000)));
      count.requests += 1;
    },
  };
}

/** Rounding errors of the fractions of requests. */
const ROUNDING = 1e-6;

function tooMany(perMinute: number, retryAfterS: number): never {
  const message = `More than ${perMinute} requests arrived within a minute. Retry in ${retryAfterS} s.`;
  return fail("rate_limited", message, { retryAfterS, metadata: { requests_per_minute: perMinute } });
}
