import type { AnswerShare, WhenSent } from "../../load/answer-memory.ts";

/** A client stream's reports about the bytes that wait in it. */
export type Backlog = {
  /** This many bytes wait now. */
  waits(bytes: number): void;
  /** Nothing more is written, and this many bytes still wait. */
  ends(bytes: number): void;
};

/** Counts the bytes that wait for a client in the memory of its answer, until they were sent. */
export function countBacklog(held: AnswerShare, whenSent: WhenSent | undefined): Backlog {
  let isSent = false;
  whenSent?.(() => {
    isSent = true;
    held.release();
  });
  return {
    waits(bytes) {
      if (!isSent) held.set(bytes);
    },
    // A host that cannot report the last byte has the bytes from here on.
    ends(bytes) {
      if (!isSent) held.set(whenSent === undefined ? 0 : bytes);
    },
  };
}
