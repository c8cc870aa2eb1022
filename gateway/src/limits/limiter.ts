import { fail } from "@inference/protocol/errors";

/** How many requests a minute somebody may make, whoever they are named by. Nothing of it outlives this process. */
export type Limiter = {
  /** Counts a request. Throws 429 `rate_limited` above the limit. */
  admit(name: string, atMs: number): void;
};

const MINUTE_MS = 60_000;
/** Past this many names another one begins anew: names are anybody's to make. */
const MAX_NAMES = 100_000;
/** Of so many one that has not used up half of its limit, if there is one, so that a flood of names frees nobody. */
const LOOKED_AT = 8;

/** A name's requests that are not over yet: each is, as much later as its part of a minute. */
type Count = { requests: number; at: number };

/**
 * A whole minute's requests may come at once; then one more for every part of a minute that has passed.
 *
 * @param perMinute Null: as many as there are.
 */
export function makeLimiter(perMinute: number | null): Limiter {
  if (perMinute === null) return { admit: () => undefined };
  const counts = new Map<string, Count>();
  let hand = counts.entries();
  const perMs = perMinute / MINUTE_MS;
  const half = perMinute / 2;

  /** A clock that went back gives nobody anything, and takes nothing. */
  function pass(count: Count, atMs: number): void {
    const passedMs = Math.max(0, atMs - count.at);
    count.requests = Math.max(0, count.requests - passedMs * perMs);
    count.at += passedMs;
  }

  /** Goes on where it stopped the last time, and looks at a few names only. */
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

/** What fractions of requests may add up to beyond what they are. */
const ROUNDING = 1e-6;

function tooMany(perMinute: number, retryAfterS: number): never {
  const message = `More than ${perMinute} requests arrived within a minute. Retry in ${retryAfterS} s.`;
  return fail("rate_limited", message, { retryAfterS, metadata: { requests_per_minute: perMinute } });
}
