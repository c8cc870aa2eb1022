/**
 * A map with a maximum of entries: a new entry evicts the oldest entry. Setting a key again makes it
 * the newest; reading changes nothing. Every cache in memory that clients can fill is one of these.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    if (this.size >= this.#most) this.delete(this.keys().next().value as K);
    return super.set(key, value);
  }
}
