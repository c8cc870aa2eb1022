import { assertNanoUsd, type NanoUsd } from "@inference/protocol/money";
import { DAY_MS } from "@inference/protocol/window";
import { type CountedBudget, counted, counterId, counterOf, holdIn, refusalOf, resolveIn, shareOf } from "./budget.ts";
import type { CeilingTerms, Commands, Refusal, ReplyOf, ReserveReply, ResolveReply } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { beginFollowing, follow, mayBeForgotten } from "./follower.ts";
import { tombstone } from "./hold-row.ts";
import { BLOCK_LEAST_LEFT_PERCENT, BLOCK_MS, BLOCK_PERCENT, BLOCKS_PERCENT, CEILING_SHARE_PERCENT } from "./limits.ts";
import { ceilingPartition } from "./partition.ts";
import { nothingRead } from "./posted.ts";
import type { BudgetRow, CounterRow, HoldRow, ReadRows } from "./tables.ts";

/**
 * The day's ceiling: a follower. It holds what an account has reserved, and ends a hold only when the owner reports how
 * its hold ended. The part that one account may hold is bounded, so that no account can block the others.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function reserveCeiling(draft: Draft, command: CommandOf<"reserveCeiling">, clockMs: number): ReserveReply {
  const begun = beginFollowing(draft, command, clockMs);
  if ("status" in begun) {
    const existing = begun.status === "reserved" ? draft.get("hold", command.id) : undefined;
    return existing === undefined ? begun : { ...begun, ...heldTerms(command, existing) };
  }
  const budget = draft.get("budget", "ceiling") ?? { id: "ceiling", window: "day", limitNanoUsd: 0 };
  const ceiling = counted(draft, "ceiling", budget, command.at);
  const share = counterOf(draft, shareId(command.owner));
  let hold: HoldRow = { ...begun, counters: ceiling.counter.id };
  const refusal =
    shareRefusal(ceiling, command) ??
    ceilingRefusal(draft, ceiling, share, command) ??
    shareHeldRefusal(budget, share, command);
  if (refusal !== undefined) return refuse(draft, hold, refusal);

  // After this point the reserve succeeds.
  const { leaseUntil } = hold;
  const amountNanoUsd = grantedOf(draft, ceiling, share, command);
  if (amountNanoUsd > command.amountNanoUsd) {
    hold = { ...hold, amountNanoUsd, leaseUntil: leaseUntil + BLOCK_MS, detail: BLOCK };
    holdIn(draft, counterOf(draft, BLOCKS), amountNanoUsd);
  }
  draft.put("hold", hold);
  holdIn(draft, ceiling.counter, amountNanoUsd);
  holdIn(draft, share, amountNanoUsd);
  return { status: "reserved", keyId: null, leaseUntil, ...heldTerms(command, hold) };
}

/** The detail of a hold that is larger than its request, and the counter of what these hold. */
const BLOCK = "block";
const BLOCKS = "blocks@0";

/**
 * What is held of a request for which there is room: as much as is wanted, but a small part of what is left, within the
 * account's share, and so that all blocks together hold a small part of the day. Near the ceiling only what it needs.
 */
function grantedOf(
  draft: Draft,
  { budget, counter }: CountedBudget,
  share: CounterRow,
  { amountNanoUsd, wantedNanoUsd }: CommandOf<"reserveCeiling">,
): NanoUsd {
  if (wantedNanoUsd === undefined) return amountNanoUsd;
  const limit = budget.limitNanoUsd ?? 0;
  const left = limit - counter.settledNanoUsd - counter.heldNanoUsd;
  if (left < shareOf(limit, BLOCK_LEAST_LEFT_PERCENT, 100)) return amountNanoUsd;
  const most = Math.min(
    wantedNanoUsd,
    shareOf(left, BLOCK_PERCENT, 100),
    maxShare(budget) - share.heldNanoUsd,
    shareOf(limit, BLOCKS_PERCENT, 100) - counterOf(draft, BLOCKS).heldNanoUsd,
  );
  return Math.max(amountNanoUsd, most);
}

/** An older version does not ask for a block, and is not told of one. */
function heldTerms({ wantedNanoUsd }: CommandOf<"reserveCeiling">, { amountNanoUsd }: HoldRow): CeilingTerms {
  return wantedNanoUsd === undefined ? {} : { heldNanoUsd: amountNanoUsd };
}

/** Stores that an id was refused. It stays refused, because its owner will release it. */
function refuse(draft: Draft, hold: HoldRow, refusal: Refusal): ReserveReply {
  draft.put("hold", { ...hold, state: "refused", counters: "", detail: JSON.stringify(refusal) });
  return { status: "refused", refusal };
}

export function followCeiling(draft: Draft, command: CommandOf<"follow">, clockMs: number): ResolveReply {
  return follow(draft, ceilingPartition, command, clockMs, freeShare);
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
  const budget = draft.get("budget", "ceiling") ?? { id: "ceiling", window: "day", limitNanoUsd: 0 };
  const { counter } = counted(draft, "ceiling", budget, at);
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
  for (const { id, owner, detail } of isLower ? rows.unresolvedHolds() : []) {
    if (detail === BLOCK) deliver(draft, `${id}.close`, owner, { type: "closeBlock", id });
  }
  draft.put("budget", { id: "ceiling", window: "day", limitNanoUsd });
  if (lowered !== undefined) {
    draft.put("cursor", { id: "cursor", ...lowered, ...nothingRead });
  }
  return { status: "set" };
}

/** Counts what an account holds of the ceiling, on all days. Nothing is settled in this counter. */
function shareId(owner: string): string {
  return `share:${owner}@0`;
}

function freeShare(draft: Draft, hold: HoldRow): void {
  const id = shareId(hold.owner);
  resolveIn(draft, hold.detail === BLOCK ? [id, BLOCKS] : [id], hold.amountNanoUsd, 0);
  if (hold.detail === BLOCK && counterOf(draft, BLOCKS).openHolds === 0) draft.remove("counter", BLOCKS);
  // An account without holds needs no row, so the table has only the accounts with requests in flight.
  if (counterOf(draft, id).openHolds === 0) draft.remove("counter", id);
}

function maxShare(ceiling: BudgetRow): number {
  return shareOf(ceiling.limitNanoUsd ?? 0, CEILING_SHARE_PERCENT, 100);
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
  share: CounterRow,
  { amountNanoUsd, at }: CommandOf<"reserveCeiling">,
): Refusal | undefined {
  const refusal = refusalOf(ceiling, amountNanoUsd, at);
  if (refusal?.cause !== "held") return refusal;
  const unsettled = (ceiling.budget.limitNanoUsd ?? 0) - ceiling.counter.settledNanoUsd;
  // The account's holds are counted on all days. All holds of the neighbouring days may be this account's.
  const own = share.heldNanoUsd - heldAt(draft, ceiling, at - DAY_MS) - heldAt(draft, ceiling, at + DAY_MS);
  return own + amountNanoUsd <= unsettled ? refusal : { ...refusal, isOwn: true };
}

function heldAt(draft: Draft, { budget }: CountedBudget, at: number): number {
  return counterOf(draft, counterId(budget.id, budget, at)).heldNanoUsd;
}

function shareHeldRefusal(
  ceiling: BudgetRow,
  share: CounterRow,
  command: CommandOf<"reserveCeiling">,
): Refusal | undefined {
  const available = Math.max(0, maxShare(ceiling) - share.heldNanoUsd);
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
