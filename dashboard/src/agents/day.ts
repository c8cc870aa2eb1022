import type { AgentBooks } from "@inference/sdk/agents";
import type { OfferState } from "@inference/sdk/offers";

/** The capacity of this UTC day and its uses, in nano-dollar: `capacity` is the sum of the others. */
export type Day = { capacity: bigint; sold: bigint; held: bigint; ownUse: bigint; left: bigint; kept: bigint };

/** @param state The gateway's. It may be of another moment than the chain's capacity: `left` and `kept` end at 0. */
export function dayOf(
  { capacityTodayNanoUsd }: Pick<AgentBooks, "capacityTodayNanoUsd">,
  { today }: Pick<OfferState, "today">,
): Day {
  const [sold, held, ownUse] = [
    BigInt(today.sold_nano_usd),
    BigInt(today.held_nano_usd),
    BigInt(today.own_use_nano_usd),
  ];
  const used = sold + held + ownUse;
  const capacity = capacityTodayNanoUsd > used ? capacityTodayNanoUsd : used;
  const unused = capacity - used;
  const left = BigInt(today.left_nano_usd) < unused ? BigInt(today.left_nano_usd) : unused;
  return { capacity, sold, held, ownUse, left, kept: unused - left };
}
