import { assertNanoUsd } from "@inference/protocol/money";
import { DAY_MS } from "@inference/protocol/window";
import { type CountedBudget, counted, counterId, counterOf, holdIn, refusalOf, resolveIn } from "./budget.ts";
import type { Commands, Refusal, ReplyOf, ReserveReply, ResolveReply } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved, repeatedReserve, repeatedResolve, tombstone, words } from "./hold.ts";
import { CEILING_SHARE_PERCENT, MAX_CLOCK_SKEW_MS, OUTCOME_RETENTION_MS } from "./limits.ts";
import { ceilingPartition } from "./partition.ts";
import { nothingRead } from "./posted.ts";
import type { BudgetRow, CounterRow, HoldRow } from "./tables.ts";

/**
 * The day's ceiling: a follower. It holds what an account has reserved, and ends a hold only when the owner reports how
 * its hold ended. The part that one account may hold is bounded, so that no account can block the others.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function reserveCeiling(draft: Draft, command: CommandOf<"reserveCeiling">, clockMs: number): ReserveReply {
  const leaseUntil = command.at + command.leaseMs;
  const fingerprint = `${command.at} ${leaseUntil} ${command.amountNanoUsd} ${command.owner}`;
  const existing = draft.get("hold", command.id);
  if (existing !== undefined) return repeatedReserve(existing, fingerprint, leaseUntil);
  if (Math.abs(command.at - clockMs) > MAX_CLOCK_SKEW_MS) return { status: "clock_skew" };
  const budget = draft.get("budget", "ceiling") ?? { id: "ceiling", window: "day", limitNanoUsd: 0 };
  const ceiling = counted(draft, "ceiling", budget, command.at);
  const share = counterOf(draft, shareId(command.owner));
  const hold: HoldRow = {
    id: command.id,
    state: "open",
    owner: command.owner,
    amountNanoUsd: command.amountNanoUsd,
    chargeNanoUsd: 0,
    counters: ceiling.counter.id,
    followers: "",
    admittedAt: command.at,
    leaseUntil,
    deliveredNanoUsd: 0,
    upstreamId: null,
    keyId: null,
    fingerprint,
    detail: "",
  };
  const refusal =
    shareRefusal(ceiling, command) ??
    ceilingRefusal(draft, ceiling, share, command) ??
    shareHeldRefusal(budget, share, command);
  if (refusal !== undefined) return refuse(draft, hold, refusal);

  // After this point the reserve succeeds.
  draft.put("hold", hold);
  holdIn(draft, ceiling.counter, hold.amountNanoUsd);
  holdIn(draft, share, hold.amountNanoUsd);
  return { status: "reserved", keyId: null, leaseUntil };
}

/** Stores that an id was refused. It stays refused, because its owner will release it. */
function refuse(draft: Draft, hold: HoldRow, refusal: Refusal): ReserveReply {
  draft.put("hold", { ...hold, state: "refused", counters: "", detail: JSON.stringify(refusal) });
  return { status: "refused", refusal };
}

export function follow(draft: Draft, command: CommandOf<"follow">, clockMs: number): ResolveReply {
  const outcome = command.chargeNanoUsd === null ? "released" : "settled";
  const chargeNanoUsd = command.chargeNanoUsd ?? 0;
  const hold = draft.get("hold", command.id);
  if (hold === undefined) {
    if (outcome === "released" && mayStillCome(command, clockMs)) {
      draft.put("hold", tombstone(command.id, ceilingPartition, command.admittedAt));
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
  freeShare(draft, hold);
  draft.put("hold", { ...hold, state: outcome, chargeNanoUsd });
  return { status: outcome };
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

export function setCeiling(draft: Draft, command: CommandOf<"setCeiling">): ReplyOf<CommandOf<"setCeiling">> {
  const { limitNanoUsd, lowered } = command;
  draft.put("budget", { id: "ceiling", window: "day", limitNanoUsd });
  if (lowered !== undefined) {
    draft.put("cursor", { id: "cursor", ...lowered, ...nothingRead });
  }
  return { status: "set" };
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
function mayBeForgotten({ admittedAt }: { admittedAt?: number }, clockMs: number): boolean {
  return admittedAt !== undefined && admittedAt + OUTCOME_RETENTION_MS - MAX_CLOCK_SKEW_MS < clockMs;
}

/** Counts what an account holds of the ceiling, on all days. Nothing is settled in this counter. */
function shareId(owner: string): string {
  return `share:${owner}@0`;
}

function freeShare(draft: Draft, hold: HoldRow): void {
  const id = shareId(hold.owner);
  resolveIn(draft, [id], hold.amountNanoUsd, 0);
  // An account without holds needs no row, so the table has only the accounts with requests in flight.
  if (counterOf(draft, id).openHolds === 0) draft.remove("counter", id);
}

function maxShare(ceiling: BudgetRow): number {
  // In two parts, because the product can exceed 2^53.
  const limit = ceiling.limitNanoUsd ?? 0;
  const rest = limit % 100;
  return ((limit - rest) / 100) * CEILING_SHARE_PERCENT + Math.floor((rest * CEILING_SHARE_PERCENT) / 100);
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
