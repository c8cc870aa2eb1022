/**
 * What the partitions of our credentials last said of them to this process, by digest. What comes with a refused one is
 * not counted against the account or identity in its name: whoever found a revoked key could keep its owner out. One
 * that is neither good nor refused yet may be such a key.
 */
export type SeenCredentials = {
  isGood(digest: string): boolean;
  isRefused(digest: string): boolean;
  accept(digest: string): void;
  refuse(digest: string): void;
};

/** Of each kind. Past this many the first of them is forgotten, and looked up once more. */
const MAX_REMEMBERED = 10_000;

export function makeSeenCredentials(): SeenCredentials {
  const good = new Set<string>();
  const refused = new Set<string>();
  return {
    isGood: (digest) => good.has(digest),
    isRefused: (digest) => refused.has(digest),
    accept(digest) {
      refused.delete(digest);
      if (!good.has(digest)) remember(good, digest);
    },
    refuse(digest) {
      good.delete(digest);
      // The last one goes to the end: the first is the oldest.
      refused.delete(digest);
      remember(refused, digest);
    },
  };
}

function remember(digests: Set<string>, digest: string): void {
  digests.add(digest);
  if (digests.size <= MAX_REMEMBERED) return;
  const [oldest = digest] = digests;
  digests.delete(oldest);
}
