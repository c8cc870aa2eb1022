import type { Partition } from "./partition.ts";
import { type Saga, send } from "./saga.ts";

/**
 * A follower's hold whose lease has lapsed: it asks the owner how it ended, and follows. While the owner's hold is open
 * the follower goes on holding; an owner that never heard of it never will.
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
