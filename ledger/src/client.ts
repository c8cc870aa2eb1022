import type { Commands } from "./commands.ts";
import type { Partition } from "./partition.ts";
import type { AnswerOf, Query } from "./reads.ts";
import type { Saga } from "./saga.ts";
import type { HoldRow } from "./tables.ts";

/** The ledger as those who use it know it, wherever it runs. */
export type LedgerClient = {
  /** False while nothing new can be written, as with a full disk: nothing is admitted then. */
  readonly writable: boolean;
  /**
   * Runs a saga and answers once everything it changed is durable.
   *
   * @param options.untilDurable Go on trying while the disk is full: for what must not be lost, like a settle.
   * @param options.insist Go on trying for seconds while a partition cannot be reached: for what is worth little when
   *   half of it is done. Where a saga is one commit, it never is.
   * @throws LedgerUnavailable when it could not be made durable; whether it took effect is then unknown.
   */
  run<T>(saga: () => Saga<T>, options?: { untilDurable?: boolean; insist?: boolean }): Promise<T>;
  read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>>;
  /** Unresolved holds whose lease has lapsed, oldest first. */
  lapsedHolds(at: number, limit: number): Promise<LapsedHold[]>;
  /**
   * One page of a walk through a table: of the at most `limit` rows after a position, those whose admission or end lies
   * before this time, for `forget` to look at.
   */
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): Promise<OverduePage>;
};

export type LapsedHold = { partition: Partition; hold: HoldRow };

export type ForgettableTable = Commands["forget"]["command"]["table"];
export type RowPosition = { partition: Partition; id: string };
export type OverdueQuery = { after: RowPosition | null; limit: number };
export type OverduePage = {
  rows: RowPosition[];
  /** Where the next page begins; null when nothing more can be overdue. */
  next: RowPosition | null;
};

export class LedgerUnavailable extends Error {
  override name = "LedgerUnavailable";
}
