import { DAY_MS, windowEnd, windowStart } from "@inference/protocol/window";
import { budgetOf, capacityCounterId, capacityId, counterId, counterOf, salesCounterId } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { MAX_CLOCK_SKEW_MS } from "./limits.ts";
import type { BudgetRow, ReadRows, Rows, SessionRow } from "./tables.ts";

/**
 * Deletes counters of windows that have ended. There is no scan of counters: each is deleted with the rows that it
 * counted. A lifetime counter stays.
 */

/** A window has ended once no request can be admitted in it, given that clocks differ a little. */
const isEnded = (window: BudgetRow["window"], startedAt: number, at: number): boolean =>
  (windowEnd(window, startedAt) ?? at) + 2 * MAX_CLOCK_SKEW_MS < at;

/**
 * Deletes a counter of a forgotten hold if its window has ended. A day has ended when its holds are forgotten, but a
 * month has not. So a hold of a month also deletes the same key's counters of earlier months.
 */
export function forgetCounter(draft: Draft, id: string, at: number): void {
  const counter = draft.get("counter", id);
  // A counter of 0 can be deleted in any window.
  if (counter?.settledNanoUsd === 0 && counter.openHolds === 0) draft.remove("counter", id);
  const cut = id.lastIndexOf("@");
  const budget = budgetOf(draft, id.slice(0, cut));
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

function removeEnded(draft: Draft, budget: Pick<BudgetRow, "id" | "window">, startedAt: number, at: number): void {
  if (!isEnded(budget.window, startedAt, at)) return;
  const counter = draft.get("counter", counterId(budget.id, budget, startedAt));
  if (counter?.openHolds === 0) draft.remove("counter", counter.id);
}

/** Whether a request of a session's days is still in progress. */
export function isCapacityInUse(draft: Draft, session: string): boolean {
  return daysOf(draft.get("session", session)).some((day) => isDayInUse(draft, day));
}

/** Deletes the capacities of a session's days, which were read from the chain for the session. */
export function forgetCapacities(draft: Draft, session: string): void {
  for (const day of daysOf(draft.get("session", session))) forgetCapacity(draft, day);
}

/** Deletes the capacities of ended days on which nothing is open. */
export function forgetEndedCapacities(draft: Draft, rows: ReadRows, at: number): void {
  for (const { id } of rows.list("budget", { after: "capacity:", limit: MAX_DAYS })) {
    const day = Number(id.slice("capacity:".length));
    if (isEnded("day", day, at) && !isDayInUse(draft, day)) forgetCapacity(draft, day);
  }
}

/** An identity has a capacity for each day on which it was asked for, until the next one. */
const MAX_DAYS = 100;

function isDayInUse(rows: Rows, day: number): boolean {
  return [capacityCounterId(day), salesCounterId(day)].some((id) => counterOf(rows, id).openHolds > 0);
}

function forgetCapacity(draft: Draft, day: number): void {
  for (const id of [capacityCounterId(day), salesCounterId(day)]) {
    if (draft.get("counter", id) !== undefined) draft.remove("counter", id);
  }
  if (draft.get("budget", capacityId(day)) !== undefined) draft.remove("budget", capacityId(day));
}

/** The starts of the days on which a session was valid, given that clocks differ a little. */
function daysOf(session: SessionRow | undefined): number[] {
  const days: number[] = [];
  if (session === undefined) return days;
  let day = windowStart("day", session.createdAt - MAX_CLOCK_SKEW_MS);
  for (; day <= session.expiresAt + MAX_CLOCK_SKEW_MS; day += DAY_MS) days.push(day);
  return days;
}
