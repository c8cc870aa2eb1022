import type { Partition } from "./partition.ts";
import type { AnswerOf, Query } from "./reads.ts";
import type { Saga } from "./saga.ts";
import type { HoldRow } from "./tables.ts";

/** The ledger as those who use it know it, wherever it runs. */
export type LedgerClient = {
  /**
   * Runs a saga and answers once everything it changed is durable.
   *
   * @param options.untilDurable Go on trying while the disk is full: for what must not be lost, like a settle.
   * @throws LedgerUnavailable when it could not be made durable; whether it took effect is then unknown.
   */
  run<T>(saga: () => Saga<T>, options?: { untilDurable?: boolean }): Promise<T>;
  read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>>;
  /** Unresolved holds whose lease has lapsed, oldest first. */
  lapsedHolds(at: number, limit: number): Promise<LapsedHold[]>;
};

export type LapsedHold = { partition: Partition; hold: HoldRow };

export class LedgerUnavailable extends Error {
  override name = "LedgerUnavailable";
}
