import type { Partition } from "@inference/ledger/partition";
import { fail } from "@inference/protocol/errors";

/**
 * The memory that answers take which have come from the provider and have not left: by account or identity, and
 * together. Nothing that is paid for is refused. Where memory is short, an answer that is not small is sent as it comes
 * instead of being gathered first, and who leaves answers unread is not admitted with more.
 */
export type HeldAnswers = {
  /**
   * Throws 429 `rate_limited` for an account that has an eighth of the memory or more. Throws 503 `overloaded` where all
   * of it is taken, for the accounts that have some: who has none is served.
   */
  admit(owner: Partition): void;
  open(owner: Partition): HeldAnswer;
  /** What all of them take. */
  bytes(): number;
};

/** One answer's part of it, from nothing on. */
export type HeldAnswer = {
  /** What it takes from now on. It counts whether it fits or not: false if it does not. */
  set(bytes: number): boolean;
  release(): void;
  /**
   * Releases it when the answer has left; at once where the host does not say when, because it is the host's from then
   * on.
   */
  releaseWhen(sent: WhenSent | undefined): void;
};

/** Calls back once the whole response has left, or its connection is gone. */
export type WhenSent = (callback: () => void) => void;

const SHARES = 8;

/** @param all bytes, for all answers together. */
export function makeHeldAnswers(all: number): HeldAnswers {
  const share = Math.floor(all / SHARES);
  const byOwner = new Map<Partition, number>();
  let total = 0;
  return {
    admit(owner) {
      const own = byOwner.get(owner) ?? 0;
      if (own >= share) {
        const message = `Unread answers of this account take ${own} bytes of at most ${share}. Read them, then retry.`;
        fail("rate_limited", message, { retryAfterS: 5 });
      }
      if (own > 0 && total >= all) fail("overloaded", "The gateway is overloaded. Retry in 5 s.", { retryAfterS: 5 });
    },
    open(owner) {
      let held = 0;
      function set(bytes: number): boolean {
        const own = (byOwner.get(owner) ?? 0) + bytes - held;
        if (own > 0) byOwner.set(owner, own);
        else byOwner.delete(owner);
        total += bytes - held;
        held = bytes;
        return own <= share && total <= all;
      }
      const release = (): void => void set(0);
      return {
        set,
        release,
        releaseWhen(sent) {
          if (sent === undefined) release();
          else sent(release);
        },
      };
    },
    bytes: () => total,
  };
}
