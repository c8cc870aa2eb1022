import { fail } from "@inference/protocol/errors";

/** Does some work, unless as much of it is under way as may be: then it throws 503 `overloaded` at once. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** @param what In the error's text: what there is too much of. */
export function makeGate(atOnce: number, what: string): Gate {
  let underWay = 0;
  return async function through(work) {
    if (underWay >= atOnce)
      fail("overloaded", `Too many ${what} are under way: try again in a second.`, { retryAfterS: 1 });
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
    }
  };
}
