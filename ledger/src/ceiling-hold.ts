import type { NanoUsd } from "@inference/protocol/money";
import { BLOCK, BLOCKS } from "./block.ts";
import { counted, counterOf, holdIn, resolveIn, shareOf } from "./budget.ts";
import type { Draft } from "./draft.ts";
import { BLOCK_MS, CEILING_SHARE_PERCENT } from "./limits.ts";
import type { BudgetRow, CounterRow, HoldRow } from "./tables.ts";

/** What the ceiling and its shards hold, and the counters of it: of the day, of each owner, and of all blocks. */

/** The ceiling's budget, and its counter of a day. */
export function dayOf(draft: Draft, at: number): { budget: BudgetRow; counter: CounterRow } {
  const budget = draft.get("budget", "ceiling") ?? { id: "ceiling", window: "day", limitNanoUsd: 0 };
  return counted(draft, "ceiling", budget, at);
}

/**
 * Stores a hold of as much as is granted, which is a block if that is more than its request needs.
 *
 * @param share The counter of its owner's share.
 */
export function holdGranted(
  draft: Draft,
  begun: HoldRow,
  amountNanoUsd: NanoUsd,
  { counters, share }: { counters: readonly CounterRow[]; share: CounterRow },
): HoldRow {
  let hold: HoldRow = { ...begun, counters: counters.map(({ id }) => id).join(" ") };
  if (amountNanoUsd > begun.amountNanoUsd) {
    hold = { ...hold, amountNanoUsd, leaseUntil: begun.leaseUntil + BLOCK_MS, detail: BLOCK };
    holdIn(draft, counterOf(draft, BLOCKS), amountNanoUsd);
  }
  draft.put("hold", hold);
  for (const counter of counters) holdIn(draft, counter, amountNanoUsd);
  holdIn(draft, share, amountNanoUsd);
  return hold;
}

/** Counts what an account holds of the ceiling, on all days. Nothing is settled in this counter. */
export function shareId(owner: string): string {
  return `share:${owner}@0`;
}

/** Frees what a hold of the ceiling held of its owner's share, and of all blocks. */
export function freeShare(draft: Draft, hold: HoldRow): void {
  const id = shareId(hold.owner);
  resolveIn(draft, hold.detail === BLOCK ? [id, BLOCKS] : [id], hold.amountNanoUsd, 0);
  if (hold.detail === BLOCK && counterOf(draft, BLOCKS).openHolds === 0) draft.remove("counter", BLOCKS);
  // An account without holds needs no row, so the table has only the accounts with requests in flight.
  if (counterOf(draft, id).openHolds === 0) draft.remove("counter", id);
}

export function maxShare(ceiling: BudgetRow): number {
  return shareOf(ceiling.limitNanoUsd ?? 0, CEILING_SHARE_PERCENT, 100);
}
