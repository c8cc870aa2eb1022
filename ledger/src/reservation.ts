import type { NanoUsd } from "@inference/protocol/money";
import type { CeilingTerms, Claim, OfferName, Payer, Refusal, ReserveReply } from "./commands.ts";
import { MAX_AGENTS_TRIED } from "./limits.ts";
import { agentPartition, ceilingPartition, type Partition } from "./partition.ts";
import { attempt, type Saga, send } from "./saga.ts";

/**
 * The sagas that reserve and resolve a request's hold. The owner, account or identity, reserves before the ceiling and
 * resolves first. A prepaid request also holds under the day's ceiling, and under the offer of the agent that serves
 * it. A later refusal or failure releases the earlier holds.
 *
 * The offer's hold is first, because the owner's names all followers. An agent's refusal or failure is no reason to
 * refuse the request: the next agent is asked, and without one the protocol serves it.
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
  claim?: Claim | undefined;
  /** Whether the account may take a block of the ceiling: see `block.ts`. */
  blocks?: boolean;
  /** The shard of the ceiling that the account belongs to. Without it the account asks the ceiling itself. */
  ceiling?: Partition;
  /** The offers that may serve it, in the order in which they are asked. */
  offers?: readonly OfferName[];
};

export type Admission =
  /** `server` is null if the protocol serves the request. */
  | { status: "reserved"; keyId: string | null; leaseUntil: number; server: OfferName | null }
  | { status: "refused"; refusal: Refusal }
  | Exclude<ReserveReply, { status: "reserved" | "refused" }>;

export function* reserveRequest(reservation: Reservation): Saga<Admission> {
  const { id, at, owner, payer, amountNanoUsd, leaseMs, detail, claim } = reservation;
  const { offers = [], blocks = false, ceiling = ceilingPartition } = reservation;
  const following = { id, at, amountNanoUsd, leaseMs, owner };
  const isPrepaid = payer.kind === "key";
  const server = yield* reserveOffer(isPrepaid ? offers.slice(0, MAX_AGENTS_TRIED) : [], following);
  const served = server === null ? [] : [agentPartition(server.agent)];
  const followers = isPrepaid ? [...served, ceiling] : [];
  try {
    const reply = yield* send(owner, {
      type: "reserve",
      id,
      at,
      amountNanoUsd,
      leaseMs,
      payer,
      followers,
      server: server ?? undefined,
      detail,
      claim,
      blocks: (blocks && isPrepaid) || undefined,
    });
    if (reply.status !== "reserved") {
      // The owner does not know the hold, so it tells nobody.
      yield* releaseOffer(server, following);
      return reply;
    }
    const { keyId, leaseUntil, isCovered = false } = reply;
    if (isPrepaid && !isCovered) {
      const followed = yield* reserveCeiling(ceiling, wishing(following, reply));
      if (followed.status !== "reserved") {
        yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
        return followed;
      }
      yield* openBlock(owner, following, followed);
    }
    return { status: "reserved", keyId, leaseUntil, server };
  } catch (error) {
    const isHeld = yield* cancelReservation(owner, { id, at });
    if (!isHeld) yield* releaseOffer(server, following);
    throw error;
  }
}

type Following = { id: string; at: number; amountNanoUsd: NanoUsd; leaseMs: number; owner: Partition };

/** The first of these offers that takes the request; null if none does. */
function* reserveOffer(offers: readonly OfferName[], following: Following): Saga<OfferName | null> {
  for (const { agent, offer } of offers) {
    try {
      const reply = yield* attempt(agentPartition(agent), { type: "reserveOffer", ...following, offer });
      if (reply.status === "reserved") return { agent, offer };
    } catch {
      // It may hold all the same. Its lease ends that: the owner does not name it.
    }
  }
  return null;
}

/** Ends the hold of an offer whose request the owner has not admitted, and refuses one that arrives late. */
function* releaseOffer(server: OfferName | null, { id, at }: Following): Saga<void> {
  if (server === null) return;
  try {
    yield* attempt(agentPartition(server.agent), { type: "follow", id, chargeNanoUsd: null, admittedAt: at });
  } catch {
    // Its lease ends it, as above.
  }
}

/** Holds under the account's ceiling, and under the ceiling itself if that is a shard whose block does not cover it. */
function* reserveCeiling(
  ceiling: Partition,
  following: Following & Pick<CeilingTerms, "wantedNanoUsd" | "leastNanoUsd" | "ownNanoUsd">,
): Saga<ReserveReply> {
  const reply = yield* send(ceiling, { ...following, type: "reserveCeiling" });
  if (reply.status !== "reserved" || ceiling === ceilingPartition || reply.isCovered) return reply;
  const { id, at, amountNanoUsd, leaseMs } = following;
  const { ownNanoUsd } = reply;
  const asShard = { id, at, amountNanoUsd, leaseMs, owner: ceiling, ...(ownNanoUsd !== undefined && { ownNanoUsd }) };
  const root = yield* reserveCeiling(ceilingPartition, wishing(asShard, reply));
  if (root.status !== "reserved") return root;
  yield* openBlock(ceiling, following, root);
  return reply;
}

/** With the block that an owner asks for, if it does. */
function wishing<T extends Following>(
  following: T,
  { wantedNanoUsd, leastNanoUsd = 0 }: CeilingTerms,
): T & CeilingTerms {
  return wantedNanoUsd === undefined ? following : { ...following, wantedNanoUsd, leastNanoUsd };
}

/** Makes what the ceiling holds beyond the request's amount the owner's block: the account's, or the shard's. */
function* openBlock(
  owner: Partition,
  { id, amountNanoUsd: neededNanoUsd }: Following,
  { heldNanoUsd = neededNanoUsd, limitNanoUsd }: CeilingTerms,
): Saga<void> {
  if (heldNanoUsd <= neededNanoUsd) return;
  const limit = limitNanoUsd === undefined ? {} : { limitNanoUsd };
  try {
    yield* attempt(owner, { type: "openBlock", id, amountNanoUsd: heldNanoUsd, ...limit });
  } catch {
    // The request is admitted, with or without a block.
  }
}

/**
 * Ends a hold of a request that was not forwarded, if it is unknown which steps took effect. If the owner does not have
 * the hold, asking for it makes sure that it can never be reserved. The release is delivered to the followers as usual,
 * and refuses a hold that arrives late there too. Returns whether the owner had it.
 */
function* cancelReservation(owner: Partition, { id, at }: { id: string; at: number }): Saga<boolean> {
  const { state } = yield* send(owner, { type: "inquire", id, at });
  const isHeld = state === "open" || state === "orphaned";
  if (isHeld) yield* send(owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
  return isHeld;
}
