import { DAY_MS, windowEnd, windowStart } from "@inference/protocol/window";
import { capacityCounterId, capacityId, counterId, counterOf } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { MAX_CLOCK_SKEW_MS } from "./limits.ts";
import type { BudgetRow, SessionRow } from "./tables.ts";

/**
 * What is counted in windows that are over. Nothing walks through counters: each goes with the rows that made it, while
 * those are forgotten. A lifetime's stays.
 */

/** A request is admitted a little before its partition's time, or after it. A window is over once none can be in it. */
const isEnded = (window: BudgetRow["window"], startedAt: number, at: number): boolean =>
  (windowEnd(window, startedAt) ?? at) + 2 * MAX_CLOCK_SKEW_MS < at;

/**
 * Removes a counter that a forgotten hold counted in. A hold of a day outlives the day; a month outlives most of its
 * holds. So a hold of a month takes with it what the same key counted in months before.
 */
export function forgetCounter(draft: Draft, id: string, at: number): void {
  const counter = draft.get("counter", id);
  // One that counts nothing is as good as none, whatever its window.
  if (counter?.settledNanoUsd === 0 && counter.openHolds === 0) draft.remove("counter", id);
  const cut = id.lastIndexOf("@");
  const budget = draft.get("budget", id.slice(0, cut));
  if (budget === undefined || budget.window === "lifetime") return;
  const startedAt = Number(id.slice(cut + 1));
  removeEnded(draft, budget, startedAt, at);
  if (budget.window !== "month") return;
  const createdAt = draft.get("key", budget.id.slice("key:".length))?.createdAt ?? startedAt;
  const first = windowStart("month", createdAt - MAX_CLOCK_SKEW_MS);
  for (let start = startedAt; start > first; ) {
    start = windowStart("month", start - 1);
    removeEnded(draft, budget, start, at);
  }
}

function removeEnded(draft: Draft, budget: BudgetRow, startedAt: number, at: number): void {
  if (!isEnded(budget.window, startedAt, at)) return;
  const counter = draft.get("counter", counterId(budget.id, budget, startedAt));
  if (counter?.openHolds === 0) draft.remove("counter", counter.id);
}

/** Whether a request that was admitted on a session's days has yet to end. */
export function isCapacityInUse(draft: Draft, session: string): boolean {
  return daysOf(draft.get("session", session)).some((day) => counterOf(draft, capacityCounterId(day)).openHolds > 0);
}

/** Removes the capacities of a session's days: the chain was asked for them because somebody was signed in. */
export function forgetCapacities(draft: Draft, session: string): void {
  for (const day of daysOf(draft.get("session", session))) {
    if (draft.get("counter", capacityCounterId(day)) !== undefined) draft.remove("counter", capacityCounterId(day));
    if (draft.get("budget", capacityId(day)) !== undefined) draft.remove("budget", capacityId(day));
  }
}

/** The starts of the days on which it was good, as clocks that are a little off count them. */
function daysOf(session: SessionRow | undefined): number[] {
  const days: number[] = [];
  if (session === undefined) return days;
  let day = windowStart("day", session.createdAt - MAX_CLOCK_SKEW_MS);
  for (; day <= session.expiresAt + MAX_CLOCK_SKEW_MS; day += DAY_MS) days.push(day);
  return days;
}
