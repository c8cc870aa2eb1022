/**
 * Credentials of ours that their partition refused when it was last asked, by digest. What comes with one is not
 * counted against the account or identity in its name: whoever found a revoked key could keep its owner out.
 */
export type RefusedCredentials = {
  has(digest: string): boolean;
  add(digest: string): void;
  delete(digest: string): void;
};

/** Past this many the first of them is forgotten, and refused once more. */
const MAX_REMEMBERED = 10_000;

export function makeRefusedCredentials(): RefusedCredentials {
  const digests = new Set<string>();
  return {
    has: (digest) => digests.has(digest),
    add(digest) {
      // The last one goes to the end: the first is the oldest.
      digests.delete(digest);
      digests.add(digest);
      if (digests.size <= MAX_REMEMBERED) return;
      const [oldest = digest] = digests;
      digests.delete(oldest);
    },
    delete(digest) {
      digests.delete(digest);
    },
  };
}
