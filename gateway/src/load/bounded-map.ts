/**
 * A map with a maximum of entries: a new entry evicts the oldest entry. Setting a key again makes it
 * the newest; reading changes nothing. Every cache in memory that clients can fill is one of these.
 */
export type BoundedMap<K, V> = {
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): void;
  delete(key: K): void;
  readonly size: number;
};

export function makeBoundedMap<K, V>(maxEntries: number): BoundedMap<K, V> {
  const entries = new Map<K, V>();
  return {
    get: (key) => entries.get(key),
    has: (key) => entries.has(key),
    set(key, value) {
      entries.delete(key);
      if (entries.size >= maxEntries) {
        const oldest = entries.keys().next();
        if (!oldest.done) entries.delete(oldest.value);
      }
      entries.set(key, value);
    },
    delete: (key) => void entries.delete(key),
    get size() {
      return entries.size;
    },
  };
}
