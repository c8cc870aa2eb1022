import { DatabaseSync } from "node:sqlite";

/** What the keeper has spent on each chain in a UTC day: kept in a file, so that a restart does not begin a new day. */
export type Budget = {
  /** What may still be spent today. */
  leftWei(chainId: number): bigint;
  /**
   * Counts the most that a transaction can take, before it is sent: it may be mined though nobody saw it. What is
   * returned puts what it took in the place of that.
   */
  reserve(chainId: number, mostWei: bigint): (tookWei: bigint) => void;
  close(): void;
};

const DAY_MS = 86_400_000;

export function openBudget(options: { file: string; dailyBudgetWei: bigint; now(): number }): Budget {
  const { file, dailyBudgetWei, now } = options;
  const database = new DatabaseSync(file);
  database.exec(
    "CREATE TABLE IF NOT EXISTS spent (day INTEGER, chain_id INTEGER, wei TEXT NOT NULL, PRIMARY KEY (day, chain_id))",
  );
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
    close: () => database.close(),
  };
}
