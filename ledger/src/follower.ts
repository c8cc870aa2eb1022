import type { Partition } from "./partition.ts";
import { type Saga, send } from "./saga.ts";

/**
 * Ends a follower's hold whose lease has lapsed, as the owner's hold ended. While the owner's hold is open, the
 * follower's stays. An owner that does not know the hold makes sure that it can never be reserved.
 */
export function* askOwner(
  follower: Partition,
  hold: { id: string; owner: Partition },
  at: number,
): Saga<"settled" | "released" | "open"> {
  const { state, chargeNanoUsd } = yield* send(hold.owner, { type: "inquire", id: hold.id, at });
  if (state === "open" || state === "orphaned") return "open";
  const settled = state === "settled";
  yield* send(follower, { type: "follow", id: hold.id, chargeNanoUsd: settled ? chargeNanoUsd : null });
  return settled ? "settled" : "released";
}
