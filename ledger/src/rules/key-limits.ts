import type { KeyLimit } from "@inference/protocol/key-limit";
import { allowsModel } from "@inference/protocol/model-pattern";
import { type Window, windowEnd } from "@inference/protocol/window";
import type { Excess, KeyTerms, UsedModel } from "../messages/commands.ts";
import type { KeyRow, ReceiptRow, Rows } from "../rows/tables.ts";
import { type CountedBudget, counterId, counterOf, heldIn, keyBudget, settleIn, windowHolds } from "./budget.ts";
import type { Place } from "./place.ts";

/**
 * The terms of a key. Its first limit in dollars has columns of its own, and its charges are always counted in that
 * window. The other terms are JSON. One row counts the requests and tokens of a minute.
 */
const NO_TERMS: KeyTerms = { limits: [], models: null, isPrivate: false };

export function termsOf({ terms }: Pick<KeyRow, "terms">): KeyTerms {
  return terms === null ? NO_TERMS : (JSON.parse(terms) as KeyTerms);
}

/** The column of these terms. */
export function termsText({ limits, models, isPrivate }: KeyTerms): string | null {
  if (limits.length === 0 && models === null && !isPrivate) return null;
  return JSON.stringify({ limits, models, isPrivate });
}

/** All limits of a key, the first one in dollars first. */
export function limitsOf(key: KeyRow): KeyLimit[] {
  const { limits } = termsOf(key);
  if (key.limitNanoUsd === null) return [...limits];
  return [{ unit: "nano_usd", window: key.window, most: key.limitNanoUsd }, ...limits];
}

/** The budgets that count a key's charges: the first limit's, if it has one or not, and those of the others. */
export function dollarBudgets({ id, window, terms }: KeyRow): { budget: string; window: Window }[] {
  const others = termsOf({ terms }).limits.filter(({ unit }) => unit === "nano_usd");
  return [
    { budget: keyBudget(id), window },
    ...others.map(({ window }) => ({ budget: keyBudget(id, window), window })),
  ];
}

export type CountedLimit = { limit: KeyLimit; used: number; held: number };

/** @param holds The account's. */
export function countLimits(rows: Rows, holds: readonly ReceiptRow[], key: KeyRow, atMs: number): CountedLimit[] {
  const own = holds.filter(({ keyId }) => keyId === key.id);
  return limitsOf(key).map((limit) => {
    const { unit, window } = limit;
    const counter = counterOf(rows, limitCounterId(key, limit, atMs));
    if (unit === "nano_usd") return { limit, used: counter.settledNanoUsd, held: heldIn(own, window, atMs) };
    const open = windowHolds(own, window, atMs);
    if (unit === "requests") return { limit, used: counter.requests ?? 0, held: open.length };
    return { limit, used: counter.tokens ?? 0, held: open.reduce((sum, { heldTokens }) => sum + (heldTokens ?? 0), 0) };
  });
}

/** The counter of a limit in the window of a time. The first limit in dollars has its own. */
export function limitCounterId(
  { id, window: first, limitNanoUsd }: KeyRow,
  { unit, window }: Pick<KeyLimit, "unit" | "window">,
  atMs: number,
): string {
  const isFirst = unit === "nano_usd" && limitNanoUsd !== null && window === first;
  return counterId(keyBudget(id, isFirst ? undefined : window), window, atMs);
}

/** A limit in dollars as a budget. */
export function budgetOfLimit({ limit, used, held }: CountedLimit): CountedBudget {
  return {
    name: "key",
    window: limit.window,
    limitNanoUsd: limit.most,
    settledNanoUsd: used,
    heldNanoUsd: held,
  };
}

/** Why an amount does not fit into a limit now; undefined if it does. Nothing needs no room. */
export function excessOf({ limit, used, held }: CountedLimit, needed: number, atMs: number): Excess | undefined {
  const { most, window } = limit;
  if (needed === 0 || used + held + needed <= most) return undefined;
  const cause = used + needed > most ? "settled" : "held";
  return { limit, cause, needed, available: availableOf({ limit, used, held }), resetsAt: windowEnd(window, atMs) };
}

export function availableOf({ limit, used, held }: CountedLimit): number {
  return Math.max(0, limit.most - used - held);
}

/** Whether a key's terms allow each of the models. A request that names none is allowed by a key without such terms. */
export function allowsUse({ models, isPrivate }: KeyTerms, used: readonly UsedModel[] = []): boolean {
  if (models === null && !isPrivate) return true;
  const isAllowed = (model: UsedModel): boolean =>
    (model.isPrivate || !isPrivate) && (models?.some((pattern) => allowsModel(pattern, model.id)) ?? true);
  return used.length > 0 && used.every(isAllowed);
}

/** The requests and tokens that a key's minute counts. */
export type MinuteUse = { requests: number; tokens: number };

/** Counts a request's end in all windows of its key's limits. */
export function countForKey(place: Place, key: KeyRow, at: number, chargeNanoUsd: number, use: MinuteUse): void {
  for (const { budget, window } of dollarBudgets(key)) settleIn(place, { budget, window, at }, chargeNanoUsd);
  if (use.requests === 0 || !hasMinute(key)) return;
  settleIn(place, { budget: keyBudget(key.id, "minute"), window: "minute", at }, 0, use);
}

export function hasMinute(key: KeyRow): boolean {
  return termsOf(key).limits.some(({ window }) => window === "minute");
}
