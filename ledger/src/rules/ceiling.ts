import type { NanoUsd } from "@inference/protocol/money";
import { windowEnd } from "@inference/protocol/window";
import type { Refusal } from "../messages/commands.ts";
import { ceilingPartition } from "../messages/partition.ts";
import type { Rows } from "../rows/tables.ts";
import { type CountedBudget, counterId, counterOf, emptyCounter, forgetWindows, shareOf } from "./budget.ts";
import { noCursor } from "./chain.ts";
import { CEILING_SHARE_PERCENT, STAYING_PERCENT } from "./limits.ts";
import type { Place, Rule } from "./place.ts";
import type { Raise } from "./raise.ts";

/**
 * The day's settlement ceiling, less what earlier days' statements take of it on chain. No account may be allowed,
 * beyond what it used, more than a part of what is free, so that none blocks the others; one request always may.
 */
export function ceilingOf(rows: Rows, atMs: number): CountedBudget {
  const { settledNanoUsd, heldNanoUsd } = counterOf(rows, counterId(ceilingPartition, "day", atMs));
  return { name: "ceiling", window: "day", limitNanoUsd: limitOf(rows, atMs), settledNanoUsd, heldNanoUsd };
}

function limitOf(rows: Rows, atMs: number): NanoUsd {
  const carriedNanoUsd = counterOf(rows, counterId(CARRY, "day", atMs)).settledNanoUsd;
  return Math.max(0, (rows.get("budget", ceilingPartition)?.limitNanoUsd ?? 0) - carriedNanoUsd);
}

const CARRY = "carry";

/** The most that an account may be allowed beyond its use now. */
export function ceilingShare({ draft }: Place, { day, settledNanoUsd, othersNanoUsd }: Raise): NanoUsd {
  const freeNanoUsd = limitOf(draft, day) - settledNanoUsd - othersNanoUsd;
  return shareOf(Math.max(0, freeNanoUsd), CEILING_SHARE_PERCENT, 100);
}

/**
 * Whether an account may keep an unused amount until the day is over. All that accounts keep is within a part of the
 * ceiling. One account takes at most a share of what the others left, so that a large allowance leaves room for small
 * ones.
 */
export function mayStay({ draft }: Place, { day, othersNanoUsd }: Raise, unusedNanoUsd: NanoUsd): boolean {
  const freeNanoUsd = Math.max(0, stayingMost(draft, day) - othersNanoUsd);
  return unusedNanoUsd <= shareOf(freeNanoUsd, CEILING_SHARE_PERCENT, 100);
}

function stayingMost(rows: Rows, day: number): NanoUsd {
  return shareOf(limitOf(rows, day), STAYING_PERCENT, 100);
}

/** The first cause that applies. A request above the largest possible share is too large, whatever is held. */
export function ceilingRefusal(place: Place, raise: Raise): Refusal | undefined {
  const { day, settledNanoUsd, othersNanoUsd, ownNanoUsd, amountNanoUsd } = raise;
  const { draft } = place;
  const limitNanoUsd = limitOf(draft, day);
  const unused = Math.max(0, limitNanoUsd - settledNanoUsd);
  const free = Math.max(0, unused - othersNanoUsd);
  const largest = shareOf(limitNanoUsd, CEILING_SHARE_PERCENT, 100);
  const share = ceilingShare(place, raise);
  const wanted = ownNanoUsd + amountNanoUsd;
  const refuse = (cause: Refusal["cause"], availableNanoUsd: NanoUsd): Refusal => ({
    ...{ budget: "ceiling", cause, neededNanoUsd: amountNanoUsd, availableNanoUsd: Math.max(0, availableNanoUsd) },
    ...{ window: "day", resetsAt: cause === "settled" || cause === "held" ? windowEnd("day", day) : null },
  });
  if (draft.get("emptied", "emptied") !== undefined) return refuse("held", 0);
  if (amountNanoUsd > largest && unused > 0) return refuse("share", Math.min(largest, unused));
  if (amountNanoUsd > unused) return refuse("settled", free - ownNanoUsd);
  // Other accounts may keep that amount until the day is over.
  const isKept = raise.isInPieces && amountNanoUsd > free && othersNanoUsd <= stayingMost(draft, day);
  if (wanted > free && wanted <= unused) return refuse(isKept ? "settled" : "held", free - ownNanoUsd);
  if (ownNanoUsd > 0 && wanted > share) return refuse("share_held", share - ownNanoUsd);
  return undefined;
}

export const setCarry: Rule<"setCarry"> = ({ draft, rows }, { day, amountNanoUsd }) => {
  const id = counterId(CARRY, "day", Date.parse(day));
  const existing = draft.get("counter", id);
  if (existing !== undefined) return { status: existing.settledNanoUsd === amountNanoUsd ? "set" : "conflict" };
  draft.put("counter", { ...emptyCounter(id), settledNanoUsd: amountNanoUsd });
  forgetWindows(draft, rows, CARRY, { window: "day", at: Date.parse(day) });
  return { status: "set" };
};

/** Given allowances stay valid until their accounts lower them. */
export const setCeiling: Rule<"setCeiling"> = ({ draft }, { limitNanoUsd, lowered }) => {
  draft.put("budget", { id: ceilingPartition, window: "day", limitNanoUsd });
  if (lowered !== undefined) draft.put("cursor", { ...noCursor, ...lowered });
  return { status: "set" };
};
