import type { Environment } from "../environment.ts";

/** Runs work once for all callers that ask for it while it is in progress: the key says what is the same. */
export type SingleFlight<T> = (key: string, work: () => Promise<T>) => Promise<T>;

/** The work goes on also when the request that began it is over: others wait for it. */
export function makeSingleFlight<T>({ background }: Pick<Environment, "background">): SingleFlight<T> {
  const underWay = new Map<string, Promise<T>>();
  return function singleFlight(key, work) {
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const begun = work().finally(() => underWay.delete(key));
    underWay.set(key, begun);
    background(begun);
    return begun;
  };
}
