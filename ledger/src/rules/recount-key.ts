import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS, type Window, windowEnd, windowStart } from "@inference/protocol/window";
import type { Draft } from "../rows/draft.ts";
import type { KeyRow, ReadRows } from "../rows/tables.ts";
import { counterId, countersOf, emptyCounter, keyBudget } from "./budget.ts";
import { dollarBudgets, hasMinute } from "./key-limits.ts";
import { usageOfDay } from "./key-usage.ts";
import { MAX_CLOCK_SKEW_MS } from "./limits.ts";

type Recount = { before: KeyRow; after: KeyRow; at: number };

/**
 * Recounts a key whose limits have other windows. Charges are counted from the totals of its days: afterwards there are
 * counters for the windows of possible new requests and of open holds. A minute without a limit is not counted.
 *
 * @param rows As they were before the command.
 */
export function recountKey(draft: Draft, rows: ReadRows, { before, after, at }: Recount): void {
  if (hasMinute(before) && !hasMinute(after)) removeCounters(draft, rows, keyBudget(before.id, "minute"));
  const [old, now] = [dollarBudgets(before), dollarBudgets(after)];
  const isIn = (list: typeof old, one: (typeof old)[number]) =>
    list.some(({ budget, window }) => budget === one.budget && window === one.window);
  for (const one of old) if (!isIn(now, one)) removeCounters(draft, rows, one.budget);
  for (const one of now) if (!isIn(old, one)) recountBudget(draft, rows, { ...one, key: after, at });
}

function removeCounters(draft: Draft, rows: ReadRows, budget: string): void {
  for (const { id } of countersOf(rows, budget)) draft.remove("counter", id);
}

type Budget = { budget: string; key: KeyRow; window: Window; at: number };

function recountBudget(draft: Draft, rows: ReadRows, { budget, key, window, at }: Budget): void {
  // The clocks of the command and of the next request may each differ by the skew.
  const near = [at - 2 * MAX_CLOCK_SKEW_MS, at, at + 2 * MAX_CLOCK_SKEW_MS];
  const held = rows.holds().filter(({ keyId }) => keyId === key.id);
  const times = [...near, ...held.map(({ admittedAt }) => admittedAt)];
  for (const startedAt of new Set(times.map((time) => windowStart(window, time)))) {
    const settledNanoUsd = chargesIn(rows, key, { window, startedAt, at });
    const id = counterId(budget, window, startedAt);
    if (settledNanoUsd > 0) draft.put("counter", { ...emptyCounter(id), settledNanoUsd });
  }
}

/** A key's charges in a window, by the totals. */
function chargesIn(
  rows: ReadRows,
  key: KeyRow,
  { window, startedAt, at }: { window: Window; startedAt: number; at: number },
): NanoUsd {
  const last = Math.min(windowEnd(window, startedAt) ?? Number.POSITIVE_INFINITY, at + 2 * MAX_CLOCK_SKEW_MS);
  let settledNanoUsd = 0;
  const first = windowStart("day", Math.max(startedAt, key.createdAt - 2 * MAX_CLOCK_SKEW_MS));
  for (let day = first; day < last; day += DAY_MS) settledNanoUsd += usageOfDay(rows, key.id, day);
  return settledNanoUsd;
}
