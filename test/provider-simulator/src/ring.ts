/** The last `capacity` things that were added, each found by its sequence number. */
export interface Ring<T> {
  add(item: T): number;
  at(sequence: number): T | null;
  /** The sequence number of the oldest item still kept, and of the next to come. */
  readonly first: number;
  readonly next: number;
  clear(): void;
}

export function createRing<T>(capacity: number): Ring<T> {
  let items: T[] = [];
  let next = 0;
  const first = (): number => Math.max(0, next - capacity);
  return {
    add(item) {
      items[next % capacity] = item;
      return next++;
    },
    at: (sequence) => (sequence >= first() && sequence < next ? (items[sequence % capacity] ?? null) : null),
    get first() {
      return first();
    },
    get next() {
      return next;
    },
    clear() {
      items = [];
      next = 0;
    },
  };
}
