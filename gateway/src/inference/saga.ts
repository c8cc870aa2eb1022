import type { Claim, Payer, Refusal, ReserveReply } from "@inference/ledger/commands";
import { ceilingPartition, type Partition } from "@inference/ledger/partition";
import { type Saga, send } from "@inference/ledger/saga";
import type { NanoUsd } from "@inference/protocol/money";

/**
 * How a request takes its hold and gives it back. The owner, account or identity, reserves first and resolves first;
 * a prepaid request also holds under the day's ceiling. A refusal down the line releases what was held before it.
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
  const reply = yield* send(owner, { type: "reserve", ...hold, followers });
  if (reply.status !== "reserved") return reply;
  for (const follower of followers) {
    const followed = yield* send(follower, { type: "reserveCeiling", id, at, amountNanoUsd, leaseMs, owner });
    if (followed.status === "reserved") continue;
    yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
    return followed;
  }
  return reply;
}
