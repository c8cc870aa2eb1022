import type { NanoUsd } from "@inference/protocol/money";
import { MAX_SHARE_BPS, STANDING_DAY } from "@inference/protocol/offer";
import { dayNumber, windowEnd } from "@inference/protocol/window";
import {
  type CountedBudget,
  capacityId,
  counted,
  holdIn,
  leftOf,
  ownCapacity,
  refusalOf,
  salesId,
  shareOf,
} from "./budget.ts";
import type { Commands, Refusal, ReplyOf, ReserveReply } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { beginFollowing } from "./follower.ts";
import { MAX_NONCE_STEP } from "./limits.ts";
import type { OfferRow, Rows } from "./tables.ts";

/**
 * An agent's offer, in the partition of its identity. What it sells of a day is a budget, whose limit is the share of
 * that day's capacity. All offers of a day count in the one counter `sales`, so that another offer sells nothing twice.
 * Own use and sales together never exceed the capacity.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function setOffer(draft: Draft, command: CommandOf<"setOffer">): ReplyOf<CommandOf<"setOffer">> {
  const { type, at, ...terms } = command;
  const last = offerOf(draft);
  if (last?.hash === terms.hash && last.endedAt === null) return { status: "set" };
  const lastNonce = last?.nonce ?? 0;
  if (terms.nonce <= lastNonce) return { status: "nonce_used" };
  if (terms.nonce - lastNonce > MAX_NONCE_STEP) return { status: "nonce_too_high" };
  const isToday = terms.day === STANDING_DAY || terms.day === dayNumber(at);
  if (!isToday && terms.shareBps > 0) return { status: "wrong_day" };
  draft.put("offer", { id: "offer", ...terms, since: at, endedAt: null });
  return { status: "set" };
}

export function endOffer(draft: Draft, { at, hash }: CommandOf<"endOffer">): ReplyOf<CommandOf<"endOffer">> {
  const offer = offerOf(draft);
  if (offer?.hash !== hash) return { status: "unknown" };
  if (offer.endedAt === null) draft.put("offer", { ...offer, endedAt: at });
  return { status: "ended" };
}

/** A follower's hold. Nobody else has heard of a refused one, because its owner reserves later: it is not stored. */
export function reserveOffer(draft: Draft, command: CommandOf<"reserveOffer">, clockMs: number): ReserveReply {
  const begun = beginFollowing(draft, command, clockMs);
  if ("status" in begun) return begun;
  const { at, amountNanoUsd } = command;
  const { ofShare, ofCapacity } = salesBudgets(draft, at);
  const { counter } = ofShare;
  const refusal =
    notInForce(draft, command, clockMs) ??
    refusalOf(ofShare, amountNanoUsd, at) ??
    refusalOf(ofCapacity, amountNanoUsd, at);
  if (refusal !== undefined) return { status: "refused", refusal };

  // After this point the reserve succeeds.
  draft.put("hold", { ...begun, counters: counter.id });
  holdIn(draft, counter, amountNanoUsd);
  return { status: "reserved", keyId: null, leaseUntil: begun.leaseUntil };
}

export type OfferView = {
  /** The last offer, in force or not; null if there was none. */
  last: OfferRow | null;
  isInForce: boolean;
  /** Of the day; null while it was not read. */
  capacityNanoUsd: NanoUsd | null;
  /** The share of it that is offered now. */
  limitNanoUsd: NanoUsd;
  soldNanoUsd: NanoUsd;
  heldNanoUsd: NanoUsd;
  /** What can still be sold. */
  leftNanoUsd: NanoUsd;
  /** What own use has settled and holds. */
  ownNanoUsd: NanoUsd;
  resetsAt: number;
};

export function offerView(rows: Rows, at: number): OfferView {
  const last = offerOf(rows) ?? null;
  const { ofShare, ofCapacity } = salesBudgets(rows, at);
  const own = ofCapacity.beside;
  const lefts = [ofShare, ofCapacity].map((budget) => leftOf(budget)?.available ?? 0);
  return {
    last,
    isInForce: last !== null && isInForce(last, at),
    capacityNanoUsd: rows.get("budget", capacityId(at))?.limitNanoUsd ?? null,
    limitNanoUsd: ofShare.budget.limitNanoUsd ?? 0,
    soldNanoUsd: ofShare.counter.settledNanoUsd,
    heldNanoUsd: ofShare.counter.heldNanoUsd,
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

/** What limits a sale: the share of the capacity, and what of the capacity own use has left. */
function salesBudgets(rows: Rows, at: number): { ofShare: CountedBudget; ofCapacity: Required<CountedBudget> } {
  const own = ownCapacity(rows, at);
  const offer = offerOf(rows);
  const shareBps = offer !== undefined && isInForce(offer, at) ? offer.shareBps : 0;
  const limitNanoUsd = shareOf(own.budget.limitNanoUsd ?? 0, shareBps, MAX_SHARE_BPS);
  const ofShare = counted(rows, "capacity", { id: salesId(at), window: "day", limitNanoUsd }, at);
  return { ofShare, ofCapacity: { ...own, counter: ofShare.counter, beside: own.counter } };
}

/** An offer that ended, that another one replaced, or whose day is over here, sells nothing. */
function notInForce(
  rows: Rows,
  { offer, at, amountNanoUsd }: CommandOf<"reserveOffer">,
  clockMs: number,
): Refusal | undefined {
  const current = offerOf(rows);
  // The provider counts a request on the day on which it is sent. What arrived before midnight is sent after it.
  const isToday = dayNumber(at) === dayNumber(clockMs);
  if (isToday && current?.hash === offer && isInForce(current, at)) return undefined;
  return {
    budget: "capacity",
    cause: "settled",
    neededNanoUsd: amountNanoUsd,
    availableNanoUsd: 0,
    window: "day",
    resetsAt: windowEnd("day", at),
  };
}
