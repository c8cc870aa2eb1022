import type { SlicedWork } from "./sliced-work.ts";

/**
 * Waits for a turn among the pieces of sliced work, then begins work that takes milliseconds and that many requests may
 * need at once. The waiting request begins it: at the edge a promise ends with the request that created it.
 */
export async function inTurn<T>(slicedWork: SlicedWork, owner: string, begin: () => T): Promise<Awaited<T>> {
  await slicedWork.turn(owner);
  return await begin();
}
