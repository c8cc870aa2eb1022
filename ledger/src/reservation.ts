import type { NanoUsd } from "@inference/protocol/money";
import type { Claim, Payer, Refusal, ReserveReply } from "./commands.ts";
import { ceilingPartition, type Partition } from "./partition.ts";
import { type Saga, send } from "./saga.ts";

/**
 * How a request takes its hold and gives it back. The owner, account or identity, reserves first and resolves first;
 * a prepaid request also holds under the day's ceiling. A refusal or a failure down the line releases what was held
 * before it.
 */
export type Reservation = {
  id: string;
  at: number;
  owner: Partition;
  payer: Payer;
  amountNanoUsd: NanoUsd;
  leaseMs: number;
  /** JSON: what settling it needs, should this process not live to do it. */
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
 * Ends a hold that nothing was forwarded under, where it is unknown which steps took effect. Asking the owner for a
 * hold that it does not have makes sure that it never will. The release goes to the followers as every other one does,
 * and there too it ends a hold that comes late.
 */
function* cancelReservation(owner: Partition, { id, at }: { id: string; at: number }): Saga<void> {
  const { state } = yield* send(owner, { type: "inquire", id, at });
  const isHeld = state === "open" || state === "orphaned";
  if (isHeld) yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
}
