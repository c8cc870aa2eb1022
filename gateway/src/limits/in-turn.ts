import type { SlicedWork } from "./sliced-work.ts";

/**
 * Waits for a turn among the pieces of sliced work, then begins what takes milliseconds and many may ask for at a time.
 * Whoever waited begins it: at the edge a promise belongs to the request that made it, and ends with that request.
 */
export async function inTurn<T>(slicedWork: SlicedWork, owner: string, begin: () => T): Promise<Awaited<T>> {
  await slicedWork.run(owner, turn());
  return await begin();
}

function* turn(): Generator<void, void> {}
