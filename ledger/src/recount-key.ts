import { DAY_MS, type Window, windowEnd, windowStart } from "@inference/protocol/window";
import { counterId } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { usageOfDay } from "./key-usage.ts";
import { MAX_CLOCK_SKEW_MS } from "./limits.ts";
import type { CounterRow, HoldRow, KeyRow, ReadRows } from "./tables.ts";

type Recount = {
  key: KeyRow;
  window: Window;
  at: number;
  /** The ids of its present counters. */
  old: readonly string[];
};

/**
 * Recounts a key for another window, from the totals of its days and its open holds. Afterwards there are counters for
 * the windows of possible new requests and of open holds.
 *
 * @param rows As they were before the command.
 */
export function recountKey(draft: Draft, rows: ReadRows, { key, window, at, old }: Recount): void {
  const holds = rows.unresolvedHolds().filter(({ keyId }) => keyId === key.id);
  for (const id of old) if (draft.get("counter", id) !== undefined) draft.remove("counter", id);
  // The clocks of the command and of the next request may each differ by the skew.
  const near = [at - 2 * MAX_CLOCK_SKEW_MS, at, at + 2 * MAX_CLOCK_SKEW_MS];
  const times = [...near, ...holds.map(({ admittedAt }) => admittedAt)];
  for (const startedAt of new Set(times.map((time) => windowStart(window, time)))) {
    const counter = countedIn(rows, key, { window, startedAt, at });
    if (counter.settledNanoUsd > 0) draft.put("counter", counter);
  }
  for (const hold of holds) moveHold(draft, hold, { key, window });
}

/** What a key was charged in a window, by the totals. */
function countedIn(
  rows: ReadRows,
  key: KeyRow,
  { window, startedAt, at }: { window: Window; startedAt: number; at: number },
): CounterRow {
  const last = Math.min(windowEnd(window, startedAt) ?? Number.POSITIVE_INFINITY, at + 2 * MAX_CLOCK_SKEW_MS);
  let settledNanoUsd = 0;
  const first = windowStart("day", Math.max(startedAt, key.createdAt - 2 * MAX_CLOCK_SKEW_MS));
  for (let day = first; day < last; day += DAY_MS) settledNanoUsd += usageOfDay(rows, key.id, day);
  return { id: counterId(`key:${key.id}`, { window }, startedAt), settledNanoUsd, heldNanoUsd: 0, openHolds: 0 };
}

function moveHold(draft: Draft, hold: HoldRow, { key, window }: Pick<Recount, "key" | "window">): void {
  const { id: holdId, admittedAt, amountNanoUsd } = hold;
  const id = counterId(`key:${key.id}`, { window }, admittedAt);
  const before = counterId(`key:${key.id}`, key, admittedAt);
  const counters = hold.counters.split(" ").map((counter) => (counter === before ? id : counter));
  draft.put("hold", { ...hold, counters: counters.join(" ") });
  const counter = draft.get("counter", id) ?? { id, settledNanoUsd: 0, heldNanoUsd: 0, openHolds: 0 };
  assertMoved(counters.includes(id), holdId);
  const heldNanoUsd = counter.heldNanoUsd + amountNanoUsd;
  draft.put("counter", { ...counter, heldNanoUsd, openHolds: counter.openHolds + 1 });
}

function assertMoved(isMoved: boolean, holdId: string): void {
  if (!isMoved) throw new Error(`${holdId} is not counted where its key was`);
}
