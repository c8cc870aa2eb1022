import { assertNanoUsd, isNanoUsd, type NanoUsd } from "@inference/protocol/money";
import { type Window, windowEnd, windowStart } from "@inference/protocol/window";
import type { BudgetName, Refusal } from "../messages/commands.ts";
import type { Draft } from "../rows/draft.ts";
import type { CounterRow, KeyRow, ReadRows, ReceiptRow, Rows } from "../rows/tables.ts";
import { MAX_CLOCK_SKEW_MS, MAX_IN_FLIGHT } from "./limits.ts";
import type { Place } from "./place.ts";

/**
 * A budget is a limit over a window, with the amount settled and the amount held since each of the window's starts.
 * Balance, key limits, capacity and the ceiling are budgets. The settled amount is a counter's row, and the held amount
 * the sum of the payer's holds, at most 32.
 */
export type CountedBudget = {
  name: BudgetName;
  window: Window;
  limitNanoUsd: NanoUsd | null;
  settledNanoUsd: NanoUsd;
  heldNanoUsd: NanoUsd;
  /** Other use of the same limit: a capacity has both own use and sales. */
  beside?: Counted;
};
export type Counted = Pick<CounterRow, "settledNanoUsd" | "heldNanoUsd">;

export function counterId(budgetId: string, window: Window, atMs: number): string {
  return `${budgetId}@${windowStart(window, atMs)}`;
}

export function counterOf(rows: Rows, id: string): CounterRow {
  return rows.get("counter", id) ?? emptyCounter(id);
}

export function emptyCounter(id: string): CounterRow {
  return { id, settledNanoUsd: 0, heldNanoUsd: 0, requests: null, tokens: null, toldLimitNanoUsd: null };
}

/** The budget of a key's first limit in dollars, or of its other limits over a window. */
export function keyBudget(keyId: string, window?: Window): string {
  return window === undefined ? `key:${keyId}` : `key:${keyId}:${window}`;
}

/** The counter of the balance: its settled amount is where the line of charges ends. */
export const LINE = "balance@0";

/** @param holds The account's. */
export function balanceOf(rows: Rows, holds: readonly ReceiptRow[]): CountedBudget {
  const limitNanoUsd = rows.get("budget", "balance")?.limitNanoUsd ?? 0;
  const { settledNanoUsd } = counterOf(rows, LINE);
  return { name: "balance", window: "lifetime", limitNanoUsd, settledNanoUsd, heldNanoUsd: sumOf(holds) };
}

export function keyOf(rows: Rows, holds: readonly ReceiptRow[], key: KeyRow, atMs: number): CountedBudget {
  const { id, window, limitNanoUsd } = key;
  const { settledNanoUsd } = counterOf(rows, counterId(keyBudget(id), window, atMs));
  const own = holds.filter(({ keyId }) => keyId === id);
  return { name: "key", window, limitNanoUsd, settledNanoUsd, heldNanoUsd: heldIn(own, window, atMs) };
}

/** The amount held in the window of a time. */
export function heldIn(holds: readonly ReceiptRow[], window: Window, atMs: number): NanoUsd {
  return sumOf(windowHolds(holds, window, atMs));
}

/** The holds that were admitted in the window of a time. */
export function windowHolds(holds: readonly ReceiptRow[], window: Window, atMs: number): ReceiptRow[] {
  const start = windowStart(window, atMs);
  return holds.filter(({ admittedAt }) => windowStart(window, admittedAt) === start);
}

function sumOf(holds: readonly ReceiptRow[]): NanoUsd {
  return holds.reduce((sum, { heldNanoUsd }) => sum + heldNanoUsd, 0);
}

/**
 * The rest of a budget, without and with what is held; null without a limit. A limit lowered below what is settled or
 * held leaves nothing, never less than nothing.
 */
export function leftOf({
  limitNanoUsd,
  settledNanoUsd,
  heldNanoUsd,
  beside,
}: Omit<CountedBudget, "name">): { unsettled: number; available: number } | null {
  if (limitNanoUsd === null) return null;
  const unsettled = Math.max(0, limitNanoUsd - settledNanoUsd - (beside?.settledNanoUsd ?? 0));
  return { unsettled, available: Math.max(0, unsettled - heldNanoUsd - (beside?.heldNanoUsd ?? 0)) };
}

/** Why an amount does not fit into a budget now; undefined if it does. */
export function refusalOf(counted: CountedBudget, amountNanoUsd: NanoUsd, atMs: number): Refusal | undefined {
  const left = leftOf(counted);
  if (left === null || amountNanoUsd <= left.available) return undefined;
  const { name, window } = counted;
  return {
    budget: name,
    cause: amountNanoUsd > left.unsettled ? "settled" : "held",
    neededNanoUsd: amountNanoUsd,
    availableNanoUsd: left.available,
    window,
    resetsAt: windowEnd(window, atMs),
  };
}

/**
 * Adds a charge, or requests and tokens, to a budget's counter. The first one of a window deletes the counters of
 * windows that are over.
 */
export function settleIn(
  { draft, rows }: Place,
  { budget, window, at }: { budget: string; window: Window; at: number },
  chargeNanoUsd: NanoUsd,
  use?: { requests: number; tokens: number },
): void {
  if (chargeNanoUsd === 0 && use === undefined) return;
  const id = counterId(budget, window, at);
  if (draft.get("counter", id) === undefined) forgetWindows(draft, rows, budget, { window, at });
  const counter = counterOf(draft, id);
  const settledNanoUsd = counter.settledNanoUsd + chargeNanoUsd;
  const { requests, tokens } = counter;
  const counts = use && { requests: (requests ?? 0) + use.requests, tokens: (tokens ?? 0) + use.tokens };
  draft.put("counter", { ...counter, ...counts, settledNanoUsd: assertCounted(settledNanoUsd, id) });
}

/** The error's text is made only if it is needed, because this runs for each request. */
function assertCounted(value: number, id: string): NanoUsd {
  return isNanoUsd(value) ? value : assertNanoUsd(value, `what ${id} has settled`);
}

/**
 * Deletes a budget's counters of windows in which no request can be admitted any more. Those within twice the clocks'
 * difference stay.
 */
export function forgetWindows(
  draft: Draft,
  rows: ReadRows,
  budget: string,
  { window, at }: { window: Window; at: number },
): void {
  if (window === "lifetime") return;
  const first = windowStart(window, windowStart(window, at) - 2 * MAX_CLOCK_SKEW_MS);
  for (const { id } of countersOf(rows, budget)) {
    if (Number(id.slice(budget.length + 1)) < first) draft.remove("counter", id);
  }
}

/** The counters of a budget, one for each window: the oldest ones. */
export function countersOf(rows: ReadRows, budget: string): CounterRow[] {
  const counters = rows.list("counter", { after: `${budget}@`, limit: MAX_WINDOWS });
  return counters.filter(({ id }) => id.startsWith(`${budget}@`));
}

/**
 * The first settle of a window deletes all but the last four. Requests of earlier minutes that settle after it can
 * leave one each.
 */
const MAX_WINDOWS = MAX_IN_FLIGHT + 4;

/** A share of an amount in whole nano-dollars, rounded down. */
export function shareOf(amountNanoUsd: NanoUsd, share: number, whole: number): NanoUsd {
  // In two parts, because the product can exceed 2^53.
  const rest = amountNanoUsd % whole;
  return ((amountNanoUsd - rest) / whole) * share + Math.floor((rest * share) / whole);
}
