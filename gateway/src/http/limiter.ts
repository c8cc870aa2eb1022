import { fail } from "@inference/protocol/errors";

/** How many requests a minute somebody may make, whoever they are named by. Nothing of it outlives this process. */
export type Limiter = {
  /** Counts a request. Throws 429 `rate_limited` above the limit. */
  admit(name: string, atMs: number): void;
};

const MINUTE_MS = 60_000;
/** Past this many names the one that came first begins anew: names are anybody's to make. */
const MAX_NAMES = 100_000;

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
  const perMs = perMinute / MINUTE_MS;
  return {
    admit(name, atMs) {
      let count = counts.get(name);
      if (count === undefined) {
        if (counts.size >= MAX_NAMES) forgetFirst(counts);
        count = { requests: 0, at: atMs };
        counts.set(name, count);
      }
      // A clock that went back gives nobody anything, and takes nothing.
      const passedMs = Math.max(0, atMs - count.at);
      count.requests = Math.max(0, count.requests - passedMs * perMs);
      count.at += passedMs;
      const above = count.requests + 1 - perMinute;
      if (above > ROUNDING) tooMany(perMinute, Math.max(1, Math.ceil((above - ROUNDING) / perMs / 1000)));
      count.requests += 1;
    },
  };
}

/** What fractions of requests may add up to beyond what they are. */
const ROUNDING = 1e-6;

function forgetFirst(names: Map<string, unknown>): void {
  for (const first of names.keys()) {
    names.delete(first);
    return;
  }
}

function tooMany(perMinute: number, retryAfterS: number): never {
  const message = `More than ${perMinute} requests came within a minute: slow down, and try again in ${retryAfterS} s.`;
  return fail("rate_limited", message, { retryAfterS, metadata: { requests_per_minute: perMinute } });
}
