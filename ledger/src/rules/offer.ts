import { isAddress } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import { MAX_SHARE_BPS, STANDING_DAY } from "@inference/protocol/offer";
import { DAY_MS, dayNumber, windowEnd, windowStart } from "@inference/protocol/window";
import type { Refusal } from "../messages/commands.ts";
import { deliver } from "../messages/delivery.ts";
import { accountPartition, partitionAgent } from "../messages/partition.ts";
import type { OfferRow, ReadRows, ReceiptRow, Rows } from "../rows/tables.ts";
import {
  type Counted,
  type CountedBudget,
  counterId,
  counterOf,
  heldIn,
  leftOf,
  refusalOf,
  shareOf,
} from "./budget.ts";
import { MAX_CLOCK_SKEW_MS, MAX_NONCE_STEP } from "./limits.ts";
import type { Place, Rule } from "./place.ts";
import type { Raise } from "./raise.ts";

/**
 * An agent's offer, in the partition of its identity. A day's sales are a budget: its limit is the share of that day's
 * capacity. All offers of a day count in the one counter `sales`, so that another offer sells nothing twice. Own use
 * and sales together never exceed the capacity.
 */
export const setOffer: Rule<"setOffer"> = (place, { type, at, ...terms }) => {
  const { draft } = place;
  const last = offerOf(draft);
  if (last?.hash === terms.hash && last.endedAt === null) return { status: "set" };
  const lastNonce = last?.nonce ?? 0;
  if (terms.nonce <= lastNonce) return { status: "nonce_used" };
  if (terms.nonce - lastNonce > MAX_NONCE_STEP) return { status: "nonce_too_high" };
  const isToday = terms.day === STANDING_DAY || terms.day === dayNumber(at);
  if (!isToday && terms.shareBps > 0) return { status: "wrong_day" };
  if (last !== undefined && terms.shareBps === 0 && isInForce(last, at)) tellOwner(place, last, "withdrawn");
  draft.put("offer", { id: "offer", ...terms, since: at, endedAt: null });
  return { status: "set" };
};

export const endOffer: Rule<"endOffer"> = (place, { at, hash }) => {
  const { draft } = place;
  const offer = offerOf(draft);
  if (offer?.hash !== hash) return { status: "unknown" };
  if (offer.endedAt !== null) return { status: "ended" };
  if (isInForce(offer, at)) tellOwner(place, offer, "agent_changed");
  draft.put("offer", { ...offer, endedAt: at });
  return { status: "ended" };
};

/** Lets the account of the wallet that owned the agent notice the end of its offer. */
function tellOwner(
  { draft, partition }: Place,
  { hash, owner }: OfferRow,
  reason: "withdrawn" | "agent_changed",
): void {
  if (!isAddress(owner)) return;
  const event = { type: "offer.ended", agent: partitionAgent(partition), offer: hash, reason } as const;
  deliver(draft, `${hash} ended`, accountPartition(owner), { type: "notice", fact: `offer_${hash}`, event });
}

export type OfferView = {
  /** The last offer, in force or not; null if there was none. */
  last: OfferRow | null;
  isInForce: boolean;
  /** The day's; null while it was not read. */
  capacityNanoUsd: NanoUsd | null;
  /** The share of it that is offered now. */
  limitNanoUsd: NanoUsd;
  soldNanoUsd: NanoUsd;
  /** The unused part of accounts' allowances. */
  heldNanoUsd: NanoUsd;
  /** The rest for sale. */
  leftNanoUsd: NanoUsd;
  /** The amount that own use has settled and holds. */
  ownNanoUsd: NanoUsd;
  resetsAt: number;
};

export function offerView(rows: ReadRows, at: number): OfferView {
  const last = offerOf(rows) ?? null;
  const sold = counterOf(rows, counterId(salesBudget(at), "day", at));
  const own = ownUse(rows, rows.holds(), at);
  const { ofShare, ofCapacity } = salesBudgets(rows, { at, sold, own });
  const lefts = [ofShare, ofCapacity].map((budget) => leftOf(budget)?.available ?? 0);
  return {
    last,
    isInForce: last !== null && isInForce(last, at),
    capacityNanoUsd: rows.get("budget", capacityId(at))?.limitNanoUsd ?? null,
    limitNanoUsd: ofShare.limitNanoUsd ?? 0,
    soldNanoUsd: sold.settledNanoUsd,
    heldNanoUsd: sold.heldNanoUsd,
    leftNanoUsd: Math.min(...lefts),
    ownNanoUsd: own.settledNanoUsd + own.heldNanoUsd,
    resetsAt: windowEnd("day", at) ?? at,
  };
}

function offerOf(rows: Rows): OfferRow | undefined {
  return rows.get("offer", "offer");
}

function isInForce({ day, shareBps, endedAt }: OfferRow, at: number): boolean {
  return shareBps > 0 && endedAt === null && (day === STANDING_DAY || day === dayNumber(at));
}

/** The limits of a sale: the share of the capacity, and the rest of the capacity after own use. */
function salesBudgets(
  rows: Rows,
  { at, sold, own }: { at: number; sold: Counted; own: Counted },
): { ofShare: CountedBudget; ofCapacity: CountedBudget } {
  const capacityNanoUsd = rows.get("budget", capacityId(at))?.limitNanoUsd ?? 0;
  const offer = offerOf(rows);
  const shareBps = offer !== undefined && isInForce(offer, at) ? offer.shareBps : 0;
  const { settledNanoUsd, heldNanoUsd } = sold;
  const ofCapacity: CountedBudget = {
    ...{ name: "capacity", window: "day", limitNanoUsd: capacityNanoUsd, settledNanoUsd, heldNanoUsd, beside: own },
  };
  const ofShare = { ...ofCapacity, limitNanoUsd: shareOf(capacityNanoUsd, shareBps, MAX_SHARE_BPS) };
  return { ofShare: { ...ofShare, beside: NOTHING }, ofCapacity };
}

const NOTHING: Counted = { settledNanoUsd: 0, heldNanoUsd: 0 };

/** Why an account is not allowed more of a day's sales; undefined if it is. */
export function offerRefusal({ draft, rows, clockMs }: Place, raise: Raise): Refusal | undefined {
  const { day: at, settledNanoUsd, othersNanoUsd, ownNanoUsd, amountNanoUsd, offer } = raise;
  const none = { budget: "capacity", neededNanoUsd: amountNanoUsd, availableNanoUsd: 0, window: "day" } as const;
  const resetsAt = windowEnd("day", at);
  if (draft.get("emptied", "emptied") !== undefined) return { ...none, cause: "held", resetsAt };
  const current = offerOf(draft);
  // The provider counts a request on the day on which it is sent. A request from before midnight is sent after it.
  const isToday = dayNumber(at) === dayNumber(clockMs);
  const isOffered = isToday && current?.hash === offer && isInForce(current, at);
  if (!isOffered) return { ...none, cause: "settled", resetsAt };
  const sold = { settledNanoUsd, heldNanoUsd: othersNanoUsd + ownNanoUsd };
  const { ofShare, ofCapacity } = salesBudgets(draft, { at, sold, own: ownUse(draft, rows.holds(), at) });
  return refusalOf(ofShare, amountNanoUsd, at) ?? refusalOf(ofCapacity, amountNanoUsd, at);
}

/** Each day has its own capacity budget, so a limit that arrives late never counts for another day. */
export function capacityId(atMs: number): string {
  return `${CAPACITY}${windowStart("day", atMs)}`;
}

const CAPACITY = "capacity:";

/** The sales of an agent's offers out of a day's capacity, whichever offers are in force on that day. */
export function salesBudget(atMs: number): string {
  return `${SALES}${windowStart("day", atMs)}`;
}

export const SALES = "sales:";

function ownUse(rows: Rows, holds: readonly ReceiptRow[], atMs: number): Counted {
  const { settledNanoUsd } = counterOf(rows, counterId(capacityId(atMs), "day", atMs));
  return { settledNanoUsd, heldNanoUsd: heldIn(holds, "day", atMs) };
}

/** A day's capacity for own use: the part that is not sold. */
export function ownCapacity(rows: Rows, holds: readonly ReceiptRow[], atMs: number): CountedBudget {
  const limitNanoUsd = rows.get("budget", capacityId(atMs))?.limitNanoUsd ?? 0;
  const beside = counterOf(rows, counterId(salesBudget(atMs), "day", atMs));
  return { name: "capacity", window: "day", limitNanoUsd, ...ownUse(rows, holds, atMs), beside };
}

/**
 * The chain's answer for the UTC day of `at`. A day without an answer has no capacity. The first answer for a day deletes
 * those of days that are over.
 */
export const setCapacity: Rule<"setCapacity"> = ({ draft, rows }, { at, limitNanoUsd }) => {
  if (draft.get("budget", capacityId(at)) === undefined) forgetCapacities({ draft, rows }, at);
  draft.put("budget", { id: capacityId(at), window: "day", limitNanoUsd });
  return { status: "set" };
};

/** Deletes the capacities and sales of the days before the one before a time. */
export function forgetCapacities({ draft, rows }: Pick<Place, "draft" | "rows">, at: number): void {
  const first = windowStart("day", at - DAY_MS - 2 * MAX_CLOCK_SKEW_MS);
  for (const { id } of rows.list("budget", { after: CAPACITY, limit: MAX_DAYS })) {
    const day = Number(id.slice(CAPACITY.length));
    if (!id.startsWith(CAPACITY) || day >= first) continue;
    draft.remove("budget", id);
    for (const budget of [capacityId(day), salesBudget(day)]) {
      if (draft.get("counter", counterId(budget, "day", day)) !== undefined)
        draft.remove("counter", counterId(budget, "day", day));
    }
  }
}

/** An identity has a capacity for each day on which it was asked for, until the next one. */
const MAX_DAYS = 100;
