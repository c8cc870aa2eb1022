import { fail } from "@inference/protocol/errors";

/**
 * The memory that request bodies take: together they never take more than there is, and nobody so much of it that there
 * is none for the others.
 *
 * - an eighth is the most of one sender
 * - an eighth is kept for small bodies, so that any number of large ones leaves ordinary requests alone
 * - an eighth is the most of all together that come without a credential, and an eighth of that the most of one of them
 */
export type HeldBodies = {
  /** One request's part of it, from nothing on. Whoever opens it releases it. */
  open(): HeldBody;
  /** Half of it is taken: the rest is for those who are seen to pay. */
  isScarce(): boolean;
};

export type HeldBody = {
  /**
   * Counts so many more bytes of the body, and all of it as this sender's, who is better known by now perhaps. Throws
   * 503 `overloaded` if it does not fit at the moment: then it counts as before.
   */
  take(bytes: number, sender: Sender): void;
  /** What the body takes from now on. More than it had is there already, and counts whether it fits or not. */
  keep(bytes: number): void;
  release(): void;
};

/** An account or identity, or a credential of which nobody knows yet; where there is none, a client's address. */
export type Sender = { name: string; hasCredential: boolean };

export type HeldLimits = {
  all: number;
  /** The most bytes of a small body. */
  small: number;
};

const SHARES = 8;

/** The most that one sender may hold. */
export function largestShare(all: number): number {
  return Math.floor(all / SHARES);
}

export function makeHeldBodies({ all, small }: HeldLimits): HeldBodies {
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

  /** A class, because one is made for every request: its methods are made once. */
  class Body implements HeldBody {
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
