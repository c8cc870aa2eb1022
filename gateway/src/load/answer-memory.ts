import type { Partition } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";

/**
 * Counts the memory of answers that have arrived from the provider and are not sent yet, by account or identity and
 * in total. No paid answer is refused. While memory is short, larger answers are sent as they arrive instead of being
 * gathered first, and an account with unread answers is not admitted.
 */
export type AnswerMemory = {
  /**
   * Throws 429 `rate_limited` if the account's answers take an eighth of the memory or more. Throws 503 `overloaded` if
   * all memory is taken, and the account has at least an equal part of it: all memory divided by the number of accounts
   * with answers.
   */
  admit(owner: Partition): void;
  open(owner: Partition): AnswerShare;
  /** The bytes of all answers. */
  bytes(): number;
};

/** The memory of one answer, 0 at first. */
export type AnswerShare = {
  /** Sets the bytes of the answer. They count even if they do not fit: false then. */
  set(bytes: number): boolean;
  release(): void;
  /** Releases the memory when the answer has been sent; at once if the host does not report that. */
  releaseWhen(sent: WhenSent | undefined): void;
};

/** Calls back once the whole response was sent, or its connection closed. */
export type WhenSent = (callback: () => void) => void;

const SHARES = 8;

/** @param all bytes, for all answers together. */
export function makeAnswerMemory(all: number): AnswerMemory {
  const share = Math.floor(all / SHARES);
  const byOwner = new Map<Partition, number>();
  let total = 0;

  /** A class, because one is made for every request, and a class makes its methods once. */
  class Answer implements AnswerShare {
    readonly #owner: Partition;
    #bytes = 0;

    constructor(owner: Partition) {
      this.#owner = owner;
    }

    set(bytes: number): boolean {
      const more = bytes - this.#bytes;
      const own = (byOwner.get(this.#owner) ?? 0) + more;
      if (own > 0) byOwner.set(this.#owner, own);
      else byOwner.delete(this.#owner);
      total += more;
      this.#bytes = bytes;
      return own <= share && total <= all;
    }

    release(): void {
      this.set(0);
    }

    releaseWhen(sent: WhenSent | undefined): void {
      if (sent === undefined) this.release();
      else sent(() => this.release());
    }
  }

  return {
    admit(owner) {
      const own = byOwner.get(owner) ?? 0;
      if (own >= share) {
        const message = `Unread answers of this account take ${own} bytes of at most ${share}. Read them, then retry.`;
        fail("rate_limited", message, { retryAfterS: 5 });
      }
      if (total >= all && own >= all / byOwner.size) {
        fail("overloaded", "The gateway is overloaded. Retry in 5 s.", { retryAfterS: 5 });
      }
    },
    open: (owner) => new Answer(owner),
    bytes: () => total,
  };
}
