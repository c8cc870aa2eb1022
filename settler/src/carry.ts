import type { Block } from "@inference/chain/chain-view";
import type { LedgerClient } from "@inference/ledger/client";
import { ceilingPartition, type Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";

/** A day's ceiling pays until 06:00 UTC of the next day. */
export const GRACE_MS = 6 * 3_600_000;
/** The new day's ceiling pays a statement that was told before 01:00 and is open at 06:00. */
const TOLD_BEFORE_MS = 3_600_000;

/**
 * Fixes once, when the block of 06:00 UTC is final, what earlier statements take of the day's ceiling. The gateway's
 * limit is the ceiling without it.
 *
 * @param read The last block that the ledger has read.
 */
export function createCarry({ ledger, partition, now }: { ledger: LedgerClient; partition: Partition; now(): number }) {
  let fixedFor: string | undefined;
  return async (read: Block): Promise<void> => {
    // A node may be wrong about the time, and a day that is fixed stays so.
    const at = Math.min(read.at, now());
    const start = dayNumber(at) * DAY_MS;
    const day = utcDay(start);
    if (at < start + GRACE_MS || fixedFor === day) return;
    const { amountNanoUsd } = await ledger.read(partition, { type: "waiting", toldBefore: start + TOLD_BEFORE_MS });
    await ledger.run(() => send(ceilingPartition, { type: "setCarry", day, amountNanoUsd }), { untilDurable: true });
    fixedFor = day;
  };
}
