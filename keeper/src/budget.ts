import type { DatabaseSync } from "node:sqlite";

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

const DAY_MS = 86_400_000;

export function createBudget(database: DatabaseSync, options: { dailyBudgetWei: bigint; now(): number }): Budget {
  const { dailyBudgetWei, now } = options;
  const read = database.prepare("SELECT wei FROM spent WHERE day = ? AND chain_id = ?");
  const write = database.prepare("INSERT OR REPLACE INTO spent VALUES (?, ?, ?)");
  const today = (): number => Math.floor(now() / DAY_MS);
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
