import { assertNanoUsd, isNanoUsd, MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { windowEnd, windowStart } from "@inference/protocol/window";
import type { BudgetName, Refusal } from "./commands.ts";
import type { Draft } from "./draft.ts";
import type { BudgetRow, CounterRow, Rows } from "./tables.ts";

/**
 * A budget is a limit over a window, with what is settled and what is held since each of the window's starts. Balance,
 * key limits, capacity and the ceiling are all budgets and nothing else.
 */
export function counterId(budgetId: string, budget: Pick<BudgetRow, "window">, atMs: number): string {
  return `${budgetId}@${windowStart(budget.window, atMs)}`;
}

/** Each day has its own capacity budget, so a limit that arrives late never counts for another day. */
export function capacityId(atMs: number): string {
  return `capacity:${windowStart("day", atMs)}`;
}

export function capacityCounterId(atMs: number): string {
  return counterId(capacityId(atMs), { window: "day" }, atMs);
}

/** What an agent's offers may sell of a day's capacity, whichever offers are in force on that day. */
export function salesId(atMs: number): string {
  return `${SALES}${windowStart("day", atMs)}`;
}

export function salesCounterId(atMs: number): string {
  return counterId(salesId(atMs), { window: "day" }, atMs);
}

const SALES = "sales:";

/**
 * The budget of a counter; undefined if nothing says what it is. That of sales has no row: see `offer.ts`. A shard of the
 * ceiling has none before its first block.
 */
export function budgetOf(rows: Rows, budgetId: string): Pick<BudgetRow, "id" | "window"> | undefined {
  const isOfDay = budgetId.startsWith(SALES) || budgetId === "ceiling";
  return rows.get("budget", budgetId) ?? (isOfDay ? { id: budgetId, window: "day" } : undefined);
}

export function counterOf(rows: Rows, id: string): CounterRow {
  return rows.get("counter", id) ?? { id, settledNanoUsd: 0, heldNanoUsd: 0, openHolds: 0 };
}

/** A budget, with its counter for the window of a request. */
export type CountedBudget = {
  name: BudgetName;
  budget: BudgetRow;
  counter: CounterRow;
  /** What else leaves less of the limit: a capacity has both own use and sales. */
  beside?: CounterRow;
};

/** A day's capacity for own use, which may take all that is not sold. */
export function ownCapacity(rows: Rows, atMs: number): CountedBudget {
  const id = capacityId(atMs);
  const budget: BudgetRow = rows.get("budget", id) ?? { id, window: "day", limitNanoUsd: 0 };
  return { ...counted(rows, "capacity", budget, atMs), beside: counterOf(rows, salesCounterId(atMs)) };
}

export function counted(rows: Rows, name: BudgetName, budget: BudgetRow, atMs: number): CountedBudget {
  return { name, budget, counter: counterOf(rows, counterId(budget.id, budget, atMs)) };
}

/**
 * What is left of a budget, without and with what is held; null without a limit. A limit lowered below what is settled
 * or held leaves nothing, never less than nothing.
 */
export function leftOf({
  budget,
  counter,
  beside,
}: Omit<CountedBudget, "name">): { unsettled: number; available: number } | null {
  if (budget.limitNanoUsd === null) return null;
  const unsettled = Math.max(0, budget.limitNanoUsd - counter.settledNanoUsd - (beside?.settledNanoUsd ?? 0));
  return { unsettled, available: Math.max(0, unsettled - counter.heldNanoUsd - (beside?.heldNanoUsd ?? 0)) };
}

/** Why an amount does not fit into a budget now; undefined if it does. */
export function refusalOf(counted: CountedBudget, amountNanoUsd: NanoUsd, atMs: number): Refusal | undefined {
  const left = leftOf(counted);
  if (left === null || amountNanoUsd <= left.available) return undefined;
  const { name, budget } = counted;
  return {
    budget: name,
    cause: amountNanoUsd > left.unsettled ? "settled" : "held",
    neededNanoUsd: amountNanoUsd,
    availableNanoUsd: left.available,
    window: budget.window,
    resetsAt: windowEnd(budget.window, atMs),
  };
}

/** Adds a new hold to a counter. */
export function holdIn(draft: Draft, counter: CounterRow, amountNanoUsd: NanoUsd): void {
  const { id, settledNanoUsd, heldNanoUsd, openHolds } = counter;
  draft.put("counter", {
    id,
    settledNanoUsd,
    heldNanoUsd: assertCounted(heldNanoUsd + amountNanoUsd, id, "holds"),
    openHolds: openHolds + 1,
  });
}

/** Ends a hold in each of these counters: subtracts what was held, and adds the charge to what is settled. */
export function resolveIn(
  draft: Draft,
  counterIds: readonly string[],
  heldNanoUsd: NanoUsd,
  chargeNanoUsd: NanoUsd,
): void {
  for (const id of counterIds) {
    const counter = counterOf(draft, id);
    draft.put("counter", {
      id: counter.id,
      settledNanoUsd: assertCounted(counter.settledNanoUsd + chargeNanoUsd, id, "has settled"),
      heldNanoUsd: assertCounted(counter.heldNanoUsd - heldNanoUsd, id, "holds"),
      openHolds: counter.openHolds - 1,
    });
  }
}

/** The error's text is made only if it is needed, because this runs ten times for each request. */
function assertCounted(value: number, id: string, what: "holds" | "has settled"): NanoUsd {
  return isNanoUsd(value) ? value : assertNanoUsd(value, `what ${id} ${what}`);
}

/** A budget with an amount added to its limit; undefined if the sum is too large. A missing budget counts as 0. */
export function raised(rows: Rows, id: string, amountNanoUsd: NanoUsd): BudgetRow | undefined {
  const budget = rows.get("budget", id) ?? { id, window: "lifetime", limitNanoUsd: 0 };
  const limitNanoUsd = (budget.limitNanoUsd ?? 0) + amountNanoUsd;
  return limitNanoUsd > MAX_NANO_USD ? undefined : { ...budget, limitNanoUsd };
}

/** A share of an amount in whole nano-dollars, rounded down. */
export function shareOf(amountNanoUsd: NanoUsd, share: number, whole: number): NanoUsd {
  // In two parts, because the product can exceed 2^53.
  const rest = amountNanoUsd % whole;
  return ((amountNanoUsd - rest) / whole) * share + Math.floor((rest * share) / whole);
}
