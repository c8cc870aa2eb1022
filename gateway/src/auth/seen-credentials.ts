import { makeBoundedMap } from "../limits/bounded-map.ts";

/**
 * What the partitions of our credentials last said of them to this process, by digest. What comes with a refused one is
 * not counted against the account or identity in its name: whoever found a revoked key could keep its owner out. One
 * that is neither good nor refused yet may be such a key.
 */
export type SeenCredentials = {
  isGood(digest: string): boolean;
  /** Whether its partition said so at this time or later. */
  wasGoodSince(digest: string, at: number): boolean;
  isRefused(digest: string): boolean;
  /** @param at When its partition said so, or a while before. */
  accept(digest: string, at: number): void;
  refuse(digest: string): void;
};

/** Of each kind. One that is evicted is looked up once more. */
const MAX_REMEMBERED = 10_000;

export function makeSeenCredentials(): SeenCredentials {
  const good = makeBoundedMap<string, number>(MAX_REMEMBERED);
  const refused = makeBoundedMap<string, true>(MAX_REMEMBERED);
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
