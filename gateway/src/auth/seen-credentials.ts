import { BoundedMap } from "../load/bounded-map.ts";

/**
 * Credentials by digest, with the last answer of their partition. Requests with a refused credential do not
 * count against the account or identity that it names: otherwise anyone with a revoked key could use up its owner's
 * rate. A credential that is neither valid nor refused so far may be such a key.
 */
export type SeenCredentials = {
  isGood(digest: string): boolean;
  /** Whether its partition called it valid at this time or later. */
  wasGoodSince(digest: string, at: number): boolean;
  isRefused(digest: string): boolean;
  /** @param at When its partition called it valid, or earlier. */
  accept(digest: string, at: number): void;
  refuse(digest: string): void;
};

/** Of each kind. An evicted one is looked up again. */
const MAX_REMEMBERED = 10_000;

export function makeSeenCredentials(): SeenCredentials {
  const good = new BoundedMap<string, number>(MAX_REMEMBERED);
  const refused = new BoundedMap<string, true>(MAX_REMEMBERED);
  return {
    isGood: (digest) => good.has(digest),
    wasGoodSince: (digest, at) => (good.get(digest) ?? Number.NEGATIVE_INFINITY) >= at,
    isRefused: (digest) => refused.has(digest),
    accept(digest, at) {
      refused.delete(digest);
      good.set(digest, Math.max(at, good.get(digest) ?? at));
    },
    refuse(digest) {
      good.delete(digest);
      refused.set(digest, true);
    },
  };
}
