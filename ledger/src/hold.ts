import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import { utcDay } from "@inference/protocol/window";
import { askedOfBlock, coverOf, uncover, underCeiling, withoutCeiling } from "./block.ts";
import {
  type CountedBudget,
  capacityCounterId,
  counted,
  counterOf,
  holdIn,
  ownCapacity,
  refusalOf,
  resolveIn,
} from "./budget.ts";
import { earlierClaim, makeClaim } from "./claim.ts";
import type { Commands, Refusal, ReplyOf, ReserveReply, ResolveReply, Tally } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved, openHold, tombstone, words } from "./hold-row.ts";
import { keepUsedKey } from "./key.ts";
import { MAX_CLOCK_SKEW_MS, MAX_FLIGHT_MS, MAX_IN_FLIGHT } from "./limits.ts";
import {
  agentPartition,
  isCeiling,
  isCeilingShard,
  journalPartition,
  journalUnder,
  type Partition,
  partitionAddress,
} from "./partition.ts";
import { authenticate } from "./payer.ts";
import type { BudgetRow, HoldRow, ReadRows, ReceiptRow } from "./tables.ts";
import { countReceipt } from "./totals.ts";

/**
 * Holds in their owner's partition. `reserve` creates a hold, `checkpoint` updates it, and it ends once: settled with at
 * most its amount, or released. Its row also records the outcomes of its commands.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function reserve(
  draft: Draft,
  rows: ReadRows,
  partition: Partition,
  command: CommandOf<"reserve">,
  clockMs: number,
): ReserveReply {
  const { payer: by, followers, server, claim } = command;
  const leaseUntil = command.at + command.leaseMs;
  const followersText = followers.join(" ");
  let fingerprint = `${command.at} ${leaseUntil} ${command.amountNanoUsd} ${by.kind} ${by.digest} ${followersText}`;
  for (const term of [server?.offer, claim?.id, claim?.fingerprint]) if (term !== undefined) fingerprint += ` ${term}`;
  const existing = draft.get("hold", command.id);
  if (existing !== undefined) {
    const reply = repeatedReserve(existing, fingerprint, leaseUntil);
    return reply.status === "reserved" ? { ...reply, ...coverOf(existing, followers) } : reply;
  }
  if (Math.abs(command.at - clockMs) > MAX_CLOCK_SKEW_MS) return { status: "clock_skew" };
  const payer = authenticate(draft, command.payer, command.at);
  if ("fault" in payer) return { status: "unauthenticated", fault: payer.fault };
  const earlier = claim === undefined ? undefined : earlierClaim(draft, claim, command.at);
  if (earlier !== undefined) return earlier;
  const budgets = bindingBudgets(draft, payer.keyId, command);
  const ceiling = underCeiling(rows, command, clockMs);
  const counters = [...budgets.map(({ counter }) => counter), ...ceiling.counters];
  const hold: HoldRow = {
    ...openHold(command, partition, fingerprint),
    counters: counters.map(({ id }) => id).join(" "),
    followers: ceiling.terms.isCovered ? withoutCeiling(followers).join(" ") : followersText,
    keyId: payer.keyId,
    detail: command.detail,
    server: server?.agent ?? null,
    offer: server?.offer ?? null,
    ceiling: followers.find(isCeilingShard) ?? null,
  };
  const refusal = inFlightRefusal(draft, budgets, command) ?? firstRefusal(budgets, command);
  // A refusal is not stored: no follower knows the id, and an account without funds could fill the disk.
  if (refusal !== undefined) return { status: "refused", refusal };

  // After this point the reserve succeeds.
  draft.put("hold", hold);
  if (claim !== undefined) makeClaim(draft, hold.id, claim);
  for (const counter of counters) holdIn(draft, counter, hold.amountNanoUsd);
  if (hold.keyId !== null && hold.amountNanoUsd === 0) keepUsedKey(draft, hold.keyId, command.at);
  return { status: "reserved", keyId: hold.keyId, leaseUntil, ...ceiling.terms };
}

/** @param leaseUntil As in the first reply. The row's value changes when the hold is orphaned. */
export function repeatedReserve(existing: HoldRow, fingerprint: string, leaseUntil: number): ReserveReply {
  if (existing.fingerprint !== fingerprint) return { status: "conflict" };
  if (existing.state === "refused") return { status: "refused", refusal: JSON.parse(existing.detail) as Refusal };
  return { status: "reserved", keyId: existing.keyId, leaseUntil };
}

export function checkpoint(draft: Draft, command: CommandOf<"checkpoint">): ReplyOf<CommandOf<"checkpoint">> {
  const hold = draft.get("hold", command.id);
  if (hold === undefined) return { status: "unknown" };
  if (!isUnresolved(hold)) return { status: "already_resolved" };
  draft.put("hold", {
    ...hold,
    deliveredNanoUsd: Math.min(hold.amountNanoUsd, Math.max(hold.deliveredNanoUsd, command.deliveredNanoUsd)),
    upstreamId: command.upstreamId ?? hold.upstreamId,
  });
  return { status: "written" };
}

export function settle(
  draft: Draft,
  partition: Partition,
  command: CommandOf<"settle">,
  clockMs: number,
): ResolveReply {
  const hold = draft.get("hold", command.id);
  if (hold === undefined) return { status: "unknown" };
  if (!isUnresolved(hold)) return repeatedResolve(draft, hold, "settled", command.chargeNanoUsd);
  if (command.chargeNanoUsd > hold.amountNanoUsd) {
    draft.alert(`${command.id}: a settle of ${command.chargeNanoUsd} exceeds its hold of ${hold.amountNanoUsd}`);
    return { status: "exceeds_hold" };
  }

  // After this point the settle succeeds.
  resolve(draft, hold, { ...command, outcome: "settled" }, clockMs);
  if (!partition.startsWith("account:")) return { status: "settled" };
  deliver(draft, command.id, journalPartition(journalUnder(hold.ceiling, utcDay(hold.admittedAt))), {
    type: "journal",
    id: hold.id,
    account: partitionAddress(partition),
    chargeNanoUsd: command.chargeNanoUsd,
    admittedAt: hold.admittedAt,
    server: hold.server ?? "protocol",
    offer: hold.offer,
  });
  return { status: "settled" };
}

export function release(draft: Draft, command: CommandOf<"release">, clockMs: number): ResolveReply {
  const hold = draft.get("hold", command.id);
  if (hold === undefined) return { status: "unknown" };
  if (!isUnresolved(hold)) return repeatedResolve(draft, hold, "released", 0);
  resolve(draft, hold, { ...command, chargeNanoUsd: 0, outcome: "released" }, clockMs);
  return { status: "released" };
}

export function orphan(draft: Draft, command: CommandOf<"orphan">): ReplyOf<CommandOf<"orphan">> {
  const hold = draft.get("hold", command.id);
  if (hold === undefined) return { status: "unknown" };
  if (!isUnresolved(hold)) return { status: "already_resolved" };
  if (hold.state === "orphaned") return { status: "orphaned" };
  draft.put("hold", { ...hold, state: "orphaned", leaseUntil: command.at + command.graceMs });
  return { status: "orphaned" };
}

/** Takes the agent from a hold, whose request the protocol serves from now on, and releases the agent's hold. */
export function reassign(draft: Draft, command: CommandOf<"reassign">): ReplyOf<CommandOf<"reassign">> {
  const hold = draft.get("hold", command.id);
  if (hold === undefined) return { status: "unknown" };
  if (!isUnresolved(hold)) return { status: "already_resolved" };
  if (hold.server === null) return { status: "reassigned" };
  const agent = agentPartition(hold.server as Address);
  const followers = words(hold.followers).filter((follower) => follower !== agent);
  draft.put("hold", { ...hold, server: null, offer: null, followers: followers.join(" ") });
  tellFollower(draft, hold, agent, null);
  return { status: "reassigned" };
}

export function inquire(
  draft: Draft,
  rows: ReadRows,
  partition: Partition,
  command: CommandOf<"inquire">,
  clockMs: number,
): ReplyOf<CommandOf<"inquire">> {
  const { follower } = command;
  const isAskedByCeiling = follower !== undefined && isCeiling(follower);
  const block = isAskedByCeiling ? askedOfBlock(draft, rows, partition, command.id, clockMs) : undefined;
  if (block !== undefined) return block;
  const hold = draft.get("hold", command.id);
  if (hold !== undefined) {
    // Another agent serves the request, or the protocol does. This follower never will.
    const isOther = follower !== undefined && !words(hold.followers).includes(follower);
    return isOther ? { state: "released", chargeNanoUsd: 0 } : { state: hold.state, chargeNanoUsd: hold.chargeNanoUsd };
  }
  // The id is unknown here. It is taken now, so a reserve that arrives late is refused.
  draft.put("hold", tombstone(command.id, partition, command.at));
  return { state: "released", chargeNanoUsd: 0 };
}

/** A repeated resolution. The same one has the same reply. Another one changes nothing, and alerts the operator. */
export function repeatedResolve(
  draft: Draft,
  hold: HoldRow,
  outcome: "settled" | "released",
  chargeNanoUsd: NanoUsd,
): ResolveReply {
  if (hold.state === outcome && hold.chargeNanoUsd === chargeNanoUsd) return { status: outcome };
  draft.alert(`${hold.id}: is ${hold.state} at ${hold.chargeNanoUsd}, and was to be ${outcome} at ${chargeNanoUsd}`);
  return { status: "already_resolved" };
}

/** The owner's budgets that limit a request, in the order in which they are checked. */
function bindingBudgets(draft: Draft, keyId: string | null, { payer, at }: CommandOf<"reserve">): CountedBudget[] {
  if (payer.kind === "session") return [ownCapacity(draft, at)];
  const id = `key:${keyId}`;
  const balance: BudgetRow = draft.get("budget", "balance") ?? { id: "balance", window: "lifetime", limitNanoUsd: 0 };
  const key: BudgetRow = draft.get("budget", id) ?? { id, window: "lifetime", limitNanoUsd: 0 };
  return [counted(draft, "balance", balance, at), counted(draft, "key", key, at)];
}

function firstRefusal(
  budgets: readonly CountedBudget[],
  { amountNanoUsd, at }: CommandOf<"reserve">,
): Refusal | undefined {
  for (const budget of budgets) {
    const refusal = refusalOf(budget, amountNanoUsd, at);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function inFlightRefusal(
  draft: Draft,
  [first]: readonly CountedBudget[],
  { amountNanoUsd, at }: CommandOf<"reserve">,
): Refusal | undefined {
  if (first === undefined || inFlight(draft, first, at) < MAX_IN_FLIGHT) return undefined;
  return {
    budget: first.name,
    cause: "in_flight",
    neededNanoUsd: amountNanoUsd,
    availableNanoUsd: 0,
    window: first.budget.window,
    resetsAt: null,
  };
}

/** The holds of a balance are in one counter. Around midnight those of a capacity are in two. */
function inFlight(draft: Draft, { name, counter }: CountedBudget, at: number): number {
  if (name !== "capacity") return counter.openHolds;
  let open = counter.openHolds;
  for (const near of [at - MAX_FLIGHT_MS, at + 2 * MAX_CLOCK_SKEW_MS]) {
    const id = capacityCounterId(near);
    if (id !== counter.id) open += counterOf(draft, id).openHolds;
  }
  return open;
}

type Resolution = {
  at: number;
  outcome: "settled" | "released";
  chargeNanoUsd: NanoUsd;
  lossNanoUsd: NanoUsd;
  /** What the receipt says; null for a request that was never forwarded and leaves none. */
  detail: string | null;
  tally?: Tally;
};

function resolve(draft: Draft, hold: HoldRow, resolution: Resolution, clockMs: number): void {
  const { outcome, chargeNanoUsd, lossNanoUsd } = resolution;
  resolveIn(draft, words(hold.counters), hold.amountNanoUsd, chargeNanoUsd);
  uncover(draft, hold.owner, hold, clockMs);
  draft.put("hold", { ...hold, state: outcome, chargeNanoUsd, detail: "" });
  if (resolution.detail !== null) {
    const receipt: ReceiptRow = {
      id: hold.id,
      admittedAt: hold.admittedAt,
      resolvedAt: resolution.at,
      outcome,
      chargeNanoUsd,
      heldNanoUsd: hold.amountNanoUsd,
      lossNanoUsd,
      keyId: hold.keyId,
      detail: resolution.detail,
    };
    draft.put("receipt", receipt);
    countReceipt(draft, receipt, resolution.tally);
  }
  const charged = outcome === "settled" ? chargeNanoUsd : null;
  for (const follower of words(hold.followers)) tellFollower(draft, hold, follower, charged);
}

export function tellFollower(
  draft: Draft,
  { id, admittedAt }: HoldRow,
  follower: Partition,
  chargeNanoUsd: NanoUsd | null,
): void {
  deliver(draft, id, follower, { type: "follow", id, chargeNanoUsd, admittedAt });
}
