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

/** Of each kind. Past this many the first of them is forgotten, and looked up once more. */
const MAX_REMEMBERED = 10_000;

export function makeSeenCredentials(): SeenCredentials {
  const good = new Map<string, number>();
  const refused = new Set<string>();
  return {
    isGood: (digest) => good.has(digest),
    wasGoodSince: (digest, at) => (good.get(digest) ?? Number.NEGATIVE_INFINITY) >= at,
    isRefused: (digest) => refused.has(digest),
    accept(digest, at) {
      refused.delete(digest);
      good.set(digest, Math.max(at, good.get(digest) ?? at));
      forgetOldest(good);
    },
    refuse(digest) {
      good.delete(digest);
      // The last one goes to the end: the first is the oldest.
      refused.delete(digest);
      refused.add(digest);
      forgetOldest(refused);
    },
  };
}

function forgetOldest(digests: Set<string> | Map<string, number>): void {
  if (digests.size <= MAX_REMEMBERED) return;
  for (const oldest of digests.keys()) {
    digests.delete(oldest);
    return;
  }
}
