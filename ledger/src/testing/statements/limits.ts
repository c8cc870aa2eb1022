import { DAY_MS, windowStart } from "@inference/protocol/window";
import { ceilingPartition, isAccount, type Partition } from "../../messages/partition.ts";
import type { ReadRows, ReceiptRow } from "../../rows/tables.ts";
import { allowanceId } from "../../rules/allowance.ts";
import { counterOf } from "../../rules/budget.ts";

/**
 * The true use of each limit, which no party of the world knows: the charges of all requests, also of those that a
 * restore lost. With what is held it is within the limit, plus what docs/restoring.md says that a restore loses.
 */
export type LimitTruth = {
  settled(partition: Partition, hold: ReceiptRow, chargeNanoUsd: number): void;
  setCeiling(limitNanoUsd: number): void;
  /** Puts a partition back to an older copy, or empties the ceiling, and notes the loss. */
  losing(partition: Partition, lose: () => void): void;
  /** To be called after each step. @throws If more was admitted than the limits and losses allow. */
  check(): void;
};

export type LimitsWorld = {
  now(): number;
  rows(partition: Partition): ReadRows;
  accounts: readonly { partition: Partition; activated(): number; hasHeard(): boolean }[];
  identity: Partition;
  /** The limits of a day of each account's key, and of the identity. */
  keyNanoUsd: number;
  capacityNanoUsd: number;
};

export function makeLimitTruth({
  now,
  rows,
  accounts,
  identity,
  keyNanoUsd,
  capacityNanoUsd,
}: LimitsWorld): LimitTruth {
  const spent = makeSums();
  const lost = makeSums();
  /** The end of an account's line before its restore, until it has heard. */
  const lineBefore = new Map<Partition, number>();
  const ceilings = new Map<number, number>();
  let ceiling = 0;

  const today = (): number => windowStart("day", now());
  const days = (): number[] => [today() - DAY_MS, today()];
  const lineOf = (partition: Partition): number => counterOf(rows(partition), "balance@0").settledNanoUsd;
  const usedBy = (account: Partition, day: number): number =>
    rows(account).get("allowance", allowanceId(day, ceilingPartition))?.usedNanoUsd ?? 0;
  const toldBy = (account: Partition, day: number): number =>
    rows(ceilingPartition).get("allowance", allowanceId(day, account))?.usedNanoUsd ?? 0;

  function ceilingOn(day: number): number {
    const most = ceilings.get(day) ?? ceiling;
    ceilings.set(day, most);
    return most;
  }

  /** The amounts of the last two days that are known, by the limit that has to know them. */
  function known() {
    const sums = makeSums();
    for (const day of days()) {
      for (const { partition } of accounts) {
        sums.add(`told ${partition} ${day}`, Math.max(usedBy(partition, day), toldBy(partition, day)));
      }
      for (const partition of [...accounts.map((each) => each.partition), identity]) {
        for (const { admittedAt, chargeNanoUsd } of rows(partition).list("receipt", { limit: 10_000 })) {
          if (windowStart("day", admittedAt) === day) sums.add(`${partition} ${day}`, chargeNanoUsd);
        }
      }
    }
    return sums;
  }

  function check(): void {
    for (const { partition, activated, hasHeard } of accounts) {
      const before = lineBefore.get(partition);
      if (before !== undefined && hasHeard()) {
        lost.add(partition, Math.max(0, before - lineOf(partition)));
        lineBefore.delete(partition);
      }
      // Before it has heard it admits nothing.
      if (!lineBefore.has(partition)) within(partition, held(partition), activated());
    }
    for (const day of days()) {
      for (const { partition } of accounts) within(`${partition} ${day}`, held(partition, day), keyNanoUsd);
      within(`${identity} ${day}`, held(identity, day), capacityNanoUsd);
      const all = accounts.reduce((sum, { partition }) => sum + held(partition, day), 0);
      within(`${ceilingPartition} ${day}`, all, ceilingOn(day));
    }
  }

  function held(partition: Partition, day?: number): number {
    const holds = rows(partition).holds();
    return holds.reduce((sum, { admittedAt, heldNanoUsd }) => {
      return sum + (day === undefined || windowStart("day", admittedAt) === day ? heldNanoUsd : 0);
    }, 0);
  }

  function within(name: string, heldNanoUsd: number, limitNanoUsd: number): void {
    const [used, slack] = [spent.of(name), lost.of(name)];
    if (used + heldNanoUsd <= limitNanoUsd + slack) return;
    throw new Error(`${name}: ${used} used and ${heldNanoUsd} held of ${limitNanoUsd}, and ${slack} that was lost`);
  }

  return {
    settled(partition, { admittedAt }, chargeNanoUsd) {
      const day = windowStart("day", admittedAt);
      spent.add(partition, chargeNanoUsd);
      spent.add(`${partition} ${day}`, chargeNanoUsd);
      if (isAccount(partition)) spent.add(`${ceilingPartition} ${day}`, chargeNanoUsd);
    },
    setCeiling(limitNanoUsd) {
      ceiling = limitNanoUsd;
      ceilings.set(today(), Math.max(ceilingOn(today()), limitNanoUsd));
    },
    losing(partition, lose) {
      const [before, line] = [known(), lineOf(partition)];
      lose();
      const after = known();
      if (isAccount(partition)) lineBefore.set(partition, Math.max(line, lineBefore.get(partition) ?? 0));
      for (const day of days()) {
        lost.add(
          `${partition} ${day}`,
          Math.max(0, before.of(`${partition} ${day}`) - after.of(`${partition} ${day}`)),
        );
        for (const each of accounts) {
          const name = `told ${each.partition} ${day}`;
          lost.add(`${ceilingPartition} ${day}`, Math.max(0, before.of(name) - after.of(name)));
        }
      }
    },
    check,
  };
}

function makeSums() {
  const sums = new Map<string, number>();
  return {
    of: (name: string): number => sums.get(name) ?? 0,
    add: (name: string, amountNanoUsd: number): void => void sums.set(name, (sums.get(name) ?? 0) + amountNanoUsd),
  };
}
