import type { NanoUsd } from "@inference/protocol/money";
import { resolveIn } from "./budget.ts";
import type { Commands, ReserveReply, ResolveReply } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { repeatedReserve, repeatedResolve } from "./hold.ts";
import { isUnresolved, openHold, tombstone, words } from "./hold-row.ts";
import { MAX_CLOCK_SKEW_MS, OUTCOME_RETENTION_MS } from "./limits.ts";
import type { Partition } from "./partition.ts";
import { type Saga, send } from "./saga.ts";
import type { HoldRow } from "./tables.ts";

/**
 * Followers: the ceiling, its shards and an agent's identity hold what a request's owner holds, and end it only when
 * the owner reports how its hold ended.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

/** A follower's new hold, which counts nowhere yet; or the reply to a command that is repeated or comes too late. */
export function beginFollowing(
  draft: Draft,
  command: CommandOf<"reserveCeiling"> | CommandOf<"reserveOffer">,
  clockMs: number,
): ReserveReply | HoldRow {
  const { id, at, leaseMs, owner } = command;
  const leaseUntil = at + leaseMs;
  const content = `${at} ${leaseUntil} ${command.amountNanoUsd} ${owner}`;
  const more = "offer" in command ? command.offer : command.wantedNanoUsd;
  const fingerprint = more === undefined ? content : `${content} ${more}`;
  const existing = draft.get("hold", id);
  if (existing !== undefined) return repeatedReserve(existing, fingerprint, leaseUntil);
  if (Math.abs(at - clockMs) > MAX_CLOCK_SKEW_MS) return { status: "clock_skew" };
  return openHold(command, owner, fingerprint);
}

/** @param ended Called with a hold that this ends, and its charge or null, for what else counts it. */
export function follow(
  draft: Draft,
  partition: Partition,
  command: CommandOf<"follow">,
  clockMs: number,
  ended: (draft: Draft, hold: HoldRow, chargeNanoUsd: NanoUsd | null) => void = () => {},
): ResolveReply {
  const outcome = command.chargeNanoUsd === null ? "released" : "settled";
  const chargeNanoUsd = command.chargeNanoUsd ?? 0;
  const hold = draft.get("hold", command.id);
  if (hold === undefined) {
    if (outcome === "released" && mayStillCome(command, clockMs)) {
      draft.put("hold", tombstone(command.id, partition, command.admittedAt));
      return { status: "released" };
    }
    const isExpected = outcome === "released" || mayBeForgotten(command, clockMs);
    if (!isExpected) draft.alert(`${command.id}: settled at ${chargeNanoUsd}, and never held here`);
    return { status: "unknown" };
  }
  // Refused here and then released by its owner, as usual for a refused request.
  if (hold.state === "refused" && outcome === "released") return { status: "released" };
  if (!isUnresolved(hold)) return repeatedResolve(draft, hold, outcome, chargeNanoUsd);
  resolveIn(draft, words(hold.counters), hold.amountNanoUsd, chargeNanoUsd);
  ended(draft, hold, command.chargeNanoUsd);
  draft.put("hold", { ...hold, state: outcome, chargeNanoUsd });
  return { status: outcome };
}

/**
 * Ends a follower's hold whose lease has lapsed, as the owner's hold ended. While the owner's hold is open, the
 * follower's stays. An owner that does not know the hold makes sure that it can never be reserved.
 */
export function* askOwner(
  follower: Partition,
  hold: { id: string; owner: Partition },
  at: number,
): Saga<"settled" | "released" | "open"> {
  const { state, chargeNanoUsd } = yield* send(hold.owner, { type: "inquire", id: hold.id, at, follower });
  if (state === "open" || state === "orphaned") return "open";
  const settled = state === "settled";
  yield* send(follower, { type: "follow", id: hold.id, chargeNanoUsd: settled ? chargeNanoUsd : null });
  return settled ? "settled" : "released";
}

/** Whether a reserve with this id may still arrive in time. */
function mayStillCome(
  command: CommandOf<"follow">,
  clockMs: number,
): command is CommandOf<"follow"> & { admittedAt: number } {
  const { admittedAt } = command;
  // Twice the skew, because a clock may be set back a little.
  return admittedAt !== undefined && admittedAt + 2 * MAX_CLOCK_SKEW_MS >= clockMs;
}

/** Whether the owner may still repeat its report, because it missed the acknowledgement. */
export function mayBeForgotten({ admittedAt }: { admittedAt?: number }, clockMs: number): boolean {
  return admittedAt !== undefined && admittedAt + OUTCOME_RETENTION_MS - MAX_CLOCK_SKEW_MS < clockMs;
}
