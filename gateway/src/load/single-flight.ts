import type { Environment } from "../environment.ts";

/** Runs work once for all callers with the same key while it is in progress. */
export type SingleFlight<T> = (key: string, work: () => Promise<T>) => Promise<T>;

/** The work goes on after the request that began it has ended, because others wait for it. */
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
