import type { DatabaseSync } from "node:sqlite";
import { dayNumber } from "@inference/protocol/window";

/** The amounts spent on each chain in a UTC day. The database keeps them over a restart. */
export type Budget = {
  /** The amount that may still be spent today. */
  leftWei(chainId: number): bigint;
  /**
   * Counts the maximum cost of a transaction before it is sent, because it may be mined even if sending seemed to fail.
   * The returned function replaces that amount by the real cost.
   */
  reserve(chainId: number, mostWei: bigint): (tookWei: bigint) => void;
};

type BudgetOptions = {
  dailyBudgetWei: bigint;
  now(): number;
  /** The table of its spending; the keeper's if absent. */
  table?: "spent" | "relay_spent" | "pull_spent";
};

export function createBudget(database: DatabaseSync, options: BudgetOptions): Budget {
  const { dailyBudgetWei, now, table = "spent" } = options;
  const read = database.prepare(`SELECT wei FROM ${table} WHERE day = ? AND chain_id = ?`);
  const write = database.prepare(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)`);
  const today = (): number => dayNumber(now());
  const spentWei = (day: number, chainId: number): bigint =>
    BigInt((read.get(day, chainId) as { wei?: string })?.wei ?? 0);
  return {
    leftWei: (chainId) => dailyBudgetWei - spentWei(today(), chainId),
    reserve(chainId, mostWei) {
      const day = today();
      const add = (wei: bigint) => void write.run(day, chainId, String(spentWei(day, chainId) + wei));
      add(mostWei);
      return (tookWei) => add(tookWei - mostWei);
    },
  };
}
