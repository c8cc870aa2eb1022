import type { HeldAnswer, WhenSent } from "../../limits/held-answers.ts";

/** What a client stream tells of the bytes that wait in it. */
export type Backlog = {
  /** So many wait now, while the client is behind. */
  waits(bytes: number): void;
  /** Nothing more is written; so many wait yet. */
  ends(bytes: number): void;
};

/** Counts the bytes that wait for a client as memory that its answer takes, until they have left. */
export function countBacklog(held: HeldAnswer, whenSent: WhenSent | undefined): Backlog {
  let isSent = false;
  whenSent?.(() => {
    isSent = true;
    held.release();
  });
  return {
    waits(bytes) {
      if (!isSent) held.set(bytes);
    },
    // Where the host does not say when the last byte has left, it is the host's from here on.
    ends(bytes) {
      if (!isSent) held.set(whenSent === undefined ? 0 : bytes);
    },
  };
}
