import { assertNanoUsd, type NanoUsd } from "@inference/protocol/money";
import { DAY_MS } from "@inference/protocol/window";
import { BLOCKS, closeHeldBlocks, grantOf, uncover } from "./block.ts";
import { type CountedBudget, counterId, counterOf, refusalOf, shareOf } from "./budget.ts";
import { dayOf, freeShare, holdGranted, maxShare, shareId } from "./ceiling-hold.ts";
import type { CeilingTerms, Commands, Refusal, ReplyOf, ReserveReply, ResolveReply } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { beginFollowing, follow, mayBeForgotten } from "./follower.ts";
import { tellFollower } from "./hold.ts";
import { tombstone, words } from "./hold-row.ts";
import { BLOCK_LEAST_LEFT_PERCENT, BLOCK_PERCENT, BLOCKS_PERCENT, SHARD_LEAST_LEFT_PERCENT } from "./limits.ts";
import { ceilingPartition, isCeilingShard, type Partition } from "./partition.ts";
import { nothingRead } from "./posted.ts";
import { reserveShard } from "./shard.ts";
import type { BudgetRow, CounterRow, HoldRow, ReadRows } from "./tables.ts";

/**
 * The day's ceiling: a follower. It holds what an account has reserved, and ends a hold only when the owner reports how
 * its hold ended. The part that one account may hold is bounded, so that no account can block the others.
 *
 * Its shards are in `shard.ts`: they hold for accounts, and it holds for them.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function reserveCeiling(
  draft: Draft,
  partition: Partition,
  command: CommandOf<"reserveCeiling">,
  clockMs: number,
): ReserveReply {
  const begun = beginFollowing(draft, command, clockMs);
  if (isCeilingShard(partition)) return reserveShard(draft, begun, command, clockMs);
  const { budget, counter } = dayOf(draft, command.at);
  if ("status" in begun) {
    const existing = begun.status === "reserved" ? draft.get("hold", command.id) : undefined;
    return existing === undefined ? begun : { ...begun, ...heldTerms(budget, command, existing) };
  }
  const ceiling: CountedBudget = { name: "ceiling", budget, counter };
  const share = counterOf(draft, shareId(command.owner));
  const ownNanoUsd = command.ownNanoUsd ?? share.heldNanoUsd;
  const refusal =
    shareRefusal(ceiling, command) ??
    ceilingRefusal(draft, ceiling, ownNanoUsd, command) ??
    shareHeldRefusal(budget, ownNanoUsd, command);
  if (refusal !== undefined) return refuse(draft, begun, refusal);

  // After this point the reserve succeeds.
  const granted = grantedOf(draft, ceiling, share, command);
  const hold = holdGranted(draft, begun, granted, { counters: [counter], share });
  return { status: "reserved", keyId: null, leaseUntil: begun.leaseUntil, ...heldTerms(budget, command, hold) };
}

/**
 * What is held of a request for which there is room: as much as is wanted, but a small part of what is left, within the
 * account's share, and so that all blocks together hold a small part of the day. Near the ceiling only what it needs. A
 * shard has no share: it keeps those of its accounts.
 */
function grantedOf(
  draft: Draft,
  { budget, counter }: CountedBudget,
  share: CounterRow,
  command: CommandOf<"reserveCeiling">,
): NanoUsd {
  const { amountNanoUsd, wantedNanoUsd, owner } = command;
  if (wantedNanoUsd === undefined) return amountNanoUsd;
  const limit = budget.limitNanoUsd ?? 0;
  const left = limit - counter.settledNanoUsd - counter.heldNanoUsd;
  const leastLeft = isCeilingShard(owner) ? SHARD_LEAST_LEFT_PERCENT : BLOCK_LEAST_LEFT_PERCENT;
  if (left < shareOf(limit, leastLeft, 100)) return amountNanoUsd;
  const most = Math.min(
    shareOf(left, BLOCK_PERCENT, 100),
    isCeilingShard(owner) ? limit : maxShare(budget) - share.heldNanoUsd,
    shareOf(limit, BLOCKS_PERCENT, 100) - counterOf(draft, BLOCKS).heldNanoUsd,
  );
  return grantOf(command, most);
}

/** An older version does not ask for a block, and is not told of one. */
function heldTerms(
  { limitNanoUsd }: BudgetRow,
  { wantedNanoUsd, owner }: CommandOf<"reserveCeiling">,
  { amountNanoUsd: heldNanoUsd }: HoldRow,
): CeilingTerms {
  if (wantedNanoUsd === undefined) return {};
  return isCeilingShard(owner) ? { heldNanoUsd, limitNanoUsd: limitNanoUsd ?? 0 } : { heldNanoUsd };
}

/** Stores that an id was refused. It stays refused, because its owner will release it. */
function refuse(draft: Draft, hold: HoldRow, refusal: Refusal): ReserveReply {
  draft.put("hold", { ...hold, state: "refused", counters: "", detail: JSON.stringify(refusal) });
  return { status: "refused", refusal };
}

/** A shard tells the ceiling, if that has a hold of its own for this one. */
export function followCeiling(
  draft: Draft,
  partition: Partition,
  command: CommandOf<"follow">,
  clockMs: number,
): ResolveReply {
  return follow(draft, partition, command, clockMs, (_, hold, chargeNanoUsd) => {
    freeShare(draft, hold);
    uncover(draft, partition, hold, clockMs);
    for (const follower of words(hold.followers)) tellFollower(draft, hold, follower, chargeNanoUsd);
  });
}

/**
 * Counts uses of an earlier day under the ceiling of a later one, which pays for them on chain. Above the limit too:
 * they are spent, and what is above it leaves no room for others.
 */
export function carry(draft: Draft, command: CommandOf<"carry">, clockMs: number): ReplyOf<CommandOf<"carry">> {
  const { id, at, amountNanoUsd } = command;
  if (mayBeForgotten({ admittedAt: at }, clockMs)) return { status: "late" };
  const existing = draft.get("hold", id);
  if (existing !== undefined) {
    return { status: existing.chargeNanoUsd === amountNanoUsd && existing.admittedAt === at ? "carried" : "conflict" };
  }
  const { counter } = dayOf(draft, at);
  const settledNanoUsd = assertNanoUsd(counter.settledNanoUsd + amountNanoUsd, "what is settled of a day");
  draft.put("counter", { ...counter, settledNanoUsd });
  draft.put("hold", {
    ...tombstone(id, ceilingPartition, at),
    ...{ state: "settled", amountNanoUsd, chargeNanoUsd: amountNanoUsd, counters: counter.id },
  });
  return { status: "carried" };
}

/** A lowered ceiling closes all blocks: what is admitted next is admitted under the new one. */
export function setCeiling(
  draft: Draft,
  rows: ReadRows,
  command: CommandOf<"setCeiling">,
): ReplyOf<CommandOf<"setCeiling">> {
  const { limitNanoUsd, lowered } = command;
  const isLower = limitNanoUsd < (draft.get("budget", "ceiling")?.limitNanoUsd ?? 0);
  if (isLower) closeHeldBlocks(draft, rows);
  draft.put("budget", { id: "ceiling", window: "day", limitNanoUsd });
  if (lowered !== undefined) {
    draft.put("cursor", { id: "cursor", ...lowered, ...nothingRead });
  }
  return { status: "set" };
}

function shareRefusal({ budget, counter }: CountedBudget, command: CommandOf<"reserveCeiling">): Refusal | undefined {
  const share = maxShare(budget);
  if (command.amountNanoUsd <= share) return undefined;
  // If the day's ceiling is settled in full, that is the reason, whatever the request's size.
  const unsettled = (budget.limitNanoUsd ?? 0) - counter.settledNanoUsd;
  return unsettled <= 0 ? undefined : shareRefusalOf(budget, command, "share", Math.min(share, unsettled));
}

/** Adds whether the account's own holds would block the request even without other holds. */
function ceilingRefusal(
  draft: Draft,
  ceiling: CountedBudget,
  ownNanoUsd: NanoUsd,
  { amountNanoUsd, at }: CommandOf<"reserveCeiling">,
): Refusal | undefined {
  const refusal = refusalOf(ceiling, amountNanoUsd, at);
  if (refusal?.cause !== "held") return refusal;
  const unsettled = (ceiling.budget.limitNanoUsd ?? 0) - ceiling.counter.settledNanoUsd;
  // The account's holds are counted on all days. All holds of the neighbouring days may be this account's.
  const own = ownNanoUsd - heldAt(draft, ceiling, at - DAY_MS) - heldAt(draft, ceiling, at + DAY_MS);
  return own + amountNanoUsd <= unsettled ? refusal : { ...refusal, isOwn: true };
}

function heldAt(draft: Draft, { budget }: CountedBudget, at: number): number {
  return counterOf(draft, counterId(budget.id, budget, at)).heldNanoUsd;
}

function shareHeldRefusal(
  ceiling: BudgetRow,
  ownNanoUsd: NanoUsd,
  command: CommandOf<"reserveCeiling">,
): Refusal | undefined {
  const available = Math.max(0, maxShare(ceiling) - ownNanoUsd);
  return command.amountNanoUsd <= available ? undefined : shareRefusalOf(ceiling, command, "share_held", available);
}

function shareRefusalOf(
  ceiling: BudgetRow,
  command: CommandOf<"reserveCeiling">,
  cause: "share" | "share_held",
  availableNanoUsd: number,
): Refusal {
  return {
    budget: "ceiling",
    cause,
    neededNanoUsd: command.amountNanoUsd,
    availableNanoUsd,
    window: ceiling.window,
    resetsAt: null,
  };
}
