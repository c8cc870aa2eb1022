/** First in, first out. Each step takes the same time: an array of more than 16,000 items moves all of them in `shift`. */
export type Queue<T> = {
  readonly length: number;
  push(item: T): void;
  first(): T | undefined;
  /** Removes the first item. */
  shift(): T | undefined;
  clear(): void;
};

type Link<T> = { item: T; next: Link<T> | undefined };

export function makeQueue<T>(): Queue<T> {
  let head: Link<T> | undefined;
  let tail: Link<T> | undefined;
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(item) {
      const link: Link<T> = { item, next: undefined };
      if (tail === undefined) head = link;
      else tail.next = link;
      tail = link;
      length += 1;
    },
    first: () => head?.item,
    shift() {
      if (head === undefined) return undefined;
      const { item, next } = head;
      head = next;
      if (next === undefined) tail = undefined;
      length -= 1;
      return item;
    },
    clear() {
      head = undefined;
      tail = undefined;
      length = 0;
    },
  };
}
