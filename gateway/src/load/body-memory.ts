import { fail } from "@inference/protocol/errors";

/**
 * Limits the memory of request bodies, in total and for each sender.
 *
 * - One sender has at most an eighth.
 * - An eighth is reserved for small bodies, so that large ones do not block ordinary requests.
 * - Bodies without a credential have at most an eighth in total, and one such sender at most an eighth of that.
 */
export type BodyMemory = {
  /** The memory of one request, 0 at first. The caller releases it. */
  open(): BodyShare;
  /** Whether half of the memory is taken. The rest is for senders who can pay. */
  isScarce(): boolean;
};

export type BodyShare = {
  /**
   * Adds bytes of the body. All its bytes count for this sender from now on, who may be known better than before.
   * Throws 503 `overloaded` if they do not fit; nothing changes then.
   */
  take(bytes: number, sender: Sender): void;
  /** Sets the bytes of the body. They count even if they do not fit, because they are in memory already. */
  keep(bytes: number): void;
  release(): void;
};

/** An account or identity, a credential that is not verified yet, or without a credential a client's address. */
export type Sender = { name: string; hasCredential: boolean };

export type MemoryLimits = {
  all: number;
  /** The most bytes of a small body. */
  small: number;
};

const SHARES = 8;

/** The most that one sender may hold. */
export function largestShare(all: number): number {
  return Math.floor(all / SHARES);
}

export function makeBodyMemory({ all, small }: MemoryLimits): BodyMemory {
  const share = largestShare(all);
  const bySender = new Map<string, number>();
  let total = 0;
  let large = 0;
  let anonymous = 0;

  const largeOf = (bytes: number): number => (bytes > small ? bytes : 0);

  function fits(bytes: number, { name, hasCredential }: Sender): boolean {
    const ofSender = (bySender.get(name) ?? 0) + bytes;
    if (total + bytes > all || ofSender > share) return false;
    if (large + largeOf(bytes) > all - share) return false;
    return hasCredential || (anonymous + bytes <= share && ofSender <= Math.floor(share / SHARES));
  }

  /** A class, because one is made for every request, and a class makes its methods once. */
  class Body implements BodyShare {
    #bytes = 0;
    #sender: Sender | null = null;

    take(bytes: number, sender: Sender): void {
      const had = this.#bytes;
      this.keep(0);
      if (!fits(had + bytes, sender)) {
        this.keep(had);
        fail("overloaded", "Too many large requests are in flight. Retry in 2 s.", { retryAfterS: 2 });
      }
      this.#sender = sender;
      this.keep(had + bytes);
    }

    keep(bytes: number): void {
      const sender = this.#sender;
      if (sender === null) return;
      const more = bytes - this.#bytes;
      total += more;
      large += largeOf(bytes) - largeOf(this.#bytes);
      if (!sender.hasCredential) anonymous += more;
      const ofSender = (bySender.get(sender.name) ?? 0) + more;
      if (ofSender > 0) bySender.set(sender.name, ofSender);
      else bySender.delete(sender.name);
      this.#bytes = bytes;
    }

    release(): void {
      this.keep(0);
    }
  }

  return {
    open: () => new Body(),
    isScarce: () => total >= all / 2,
  };
}
