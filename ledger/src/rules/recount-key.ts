import { DAY_MS, type Window, windowEnd, windowStart } from "@inference/protocol/window";
import type { Draft } from "../rows/draft.ts";
import type { CounterRow, KeyRow, ReadRows } from "../rows/tables.ts";
import { counterId, countersOf, keyBudget } from "./budget.ts";
import { usageOfDay } from "./key-usage.ts";
import { MAX_CLOCK_SKEW_MS } from "./limits.ts";

type Recount = { key: KeyRow; window: Window; at: number };

/**
 * Recounts a key for another window, from the totals of its days. Afterwards there are counters for the windows of
 * possible new requests and of open holds.
 *
 * @param rows As they were before the command.
 */
export function recountKey(draft: Draft, rows: ReadRows, { key, window, at }: Recount): void {
  for (const { id } of countersOf(rows, keyBudget(key.id))) draft.remove("counter", id);
  // The clocks of the command and of the next request may each differ by the skew.
  const near = [at - 2 * MAX_CLOCK_SKEW_MS, at, at + 2 * MAX_CLOCK_SKEW_MS];
  const held = rows.holds().filter(({ keyId }) => keyId === key.id);
  const times = [...near, ...held.map(({ admittedAt }) => admittedAt)];
  for (const startedAt of new Set(times.map((time) => windowStart(window, time)))) {
    const counter = countedIn(rows, key, { window, startedAt, at });
    if (counter.settledNanoUsd > 0) draft.put("counter", counter);
  }
}

/** A key's charges in a window, by the totals. */
function countedIn(
  rows: ReadRows,
  key: KeyRow,
  { window, startedAt, at }: { window: Window; startedAt: number; at: number },
): CounterRow {
  const last = Math.min(windowEnd(window, startedAt) ?? Number.POSITIVE_INFINITY, at + 2 * MAX_CLOCK_SKEW_MS);
  let settledNanoUsd = 0;
  const first = windowStart("day", Math.max(startedAt, key.createdAt - 2 * MAX_CLOCK_SKEW_MS));
  for (let day = first; day < last; day += DAY_MS) settledNanoUsd += usageOfDay(rows, key.id, day);
  return { id: counterId(keyBudget(key.id), window, startedAt), settledNanoUsd, heldNanoUsd: 0 };
}
