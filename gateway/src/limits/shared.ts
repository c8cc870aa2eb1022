import type { Environment } from "../environment.ts";

/** Does some work once for all who want its result at the same time: the key says what is the same. */
export type Shared<T> = (key: string, work: () => Promise<T>) => Promise<T>;

/** The work goes on also when the request that began it is over: others wait for it. */
export function makeShared<T>({ background }: Pick<Environment, "background">): Shared<T> {
  const underWay = new Map<string, Promise<T>>();
  return function shared(key, work) {
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const begun = work().finally(() => underWay.delete(key));
    underWay.set(key, begun);
    background(begun);
    return begun;
  };
}
