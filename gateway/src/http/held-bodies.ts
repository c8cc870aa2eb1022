import { fail } from "@inference/protocol/errors";

/** The memory that request bodies take, counted as their bytes arrive: together they never take more than there is. */
export type HeldBodies = { open(): HeldBody };

/** One request's part of it. */
export type HeldBody = {
  /** Throws 503 `overloaded` if so many more bytes do not fit at the moment. */
  take(bytes: number): void;
  release(): void;
};

export function makeHeldBodies(maxBytes: number): HeldBodies {
  let total = 0;
  return {
    open() {
      let own = 0;
      return {
        take(bytes) {
          if (total + bytes > maxBytes) {
            fail("overloaded", "Too many large requests are in flight: try again in a moment.", { retryAfterS: 2 });
          }
          total += bytes;
          own += bytes;
        },
        release() {
          total -= own;
          own = 0;
        },
      };
    },
  };
}
