import type { NanoUsd } from "@inference/protocol/money";
import type { Claim, Payer, Refusal, ReserveReply } from "./commands.ts";
import { ceilingPartition, type Partition } from "./partition.ts";
import { type Saga, send } from "./saga.ts";

/**
 * The sagas that reserve and resolve a request's hold. The owner, account or identity, reserves first and resolves
 * first. A prepaid request also holds under the day's ceiling. A later refusal or failure releases the earlier holds.
 */
export type Reservation = {
  id: string;
  at: number;
  owner: Partition;
  payer: Payer;
  amountNanoUsd: NanoUsd;
  leaseMs: number;
  /** JSON: what the sweeper needs to settle the hold if this process dies. */
  detail: string;
  claim?: Claim;
};

export type Admission =
  | { status: "reserved"; keyId: string | null; leaseUntil: number }
  | { status: "refused"; refusal: Refusal }
  | Exclude<ReserveReply, { status: "reserved" | "refused" }>;

export function* reserveRequest(reservation: Reservation): Saga<Admission> {
  const { owner, ...hold } = reservation;
  const { id, at, payer, amountNanoUsd, leaseMs } = hold;
  const followers = payer.kind === "key" ? [ceilingPartition] : [];
  try {
    const reply = yield* send(owner, { type: "reserve", ...hold, followers });
    if (reply.status !== "reserved") return reply;
    for (const follower of followers) {
      const followed = yield* send(follower, { type: "reserveCeiling", id, at, amountNanoUsd, leaseMs, owner });
      if (followed.status === "reserved") continue;
      yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
      return followed;
    }
    return reply;
  } catch (error) {
    yield* cancelReservation(owner, { id, at });
    throw error;
  }
}

/**
 * Ends a hold of a request that was not forwarded, if it is unknown which steps took effect. If the owner does not have
 * the hold, asking for it makes sure that it can never be reserved. The release is delivered to the followers as usual,
 * and refuses a hold that arrives late there too.
 */
function* cancelReservation(owner: Partition, { id, at }: { id: string; at: number }): Saga<void> {
  const { state } = yield* send(owner, { type: "inquire", id, at });
  const isHeld = state === "open" || state === "orphaned";
  if (isHeld) yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
}
