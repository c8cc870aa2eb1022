/**
 * The waiting work of several owners. The owners take turns. The work of one owner leaves in the order of its arrival.
 */
export type OwnerQueue<T> = {
  push(owner: string, item: T): void;
  /** Removes the next item. */
  shift(): T | undefined;
  readonly length: number;
};

export function makeOwnerQueue<T>(): OwnerQueue<T> {
  /** The first owner has the next turn, and goes to the end after it. */
  const waiting = new Map<string, T[]>();
  let length = 0;
  return {
    push(owner, item) {
      const items = waiting.get(owner) ?? [];
      items.push(item);
      waiting.set(owner, items);
      length += 1;
    },
    shift() {
      const next = waiting.entries().next().value;
      if (next === undefined) return undefined;
      const [owner, items] = next;
      waiting.delete(owner);
      // Moves no items of an array below 16,000.
      const item = items.shift();
      if (items.length > 0) waiting.set(owner, items);
      length -= 1;
      return item;
    },
    get length() {
      return length;
    },
  };
}
