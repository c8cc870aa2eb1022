import type { ReceiptRow } from "../rows/tables.ts";
import type { Commands } from "./commands.ts";
import type { Partition } from "./partition.ts";
import type { AnswerOf, Query } from "./reads.ts";
import type { Saga } from "./saga.ts";

/** The ledger's interface, the same on every host. */
export type LedgerClient = {
  /** False while nothing can be written, such as with a full disk. No request is admitted then. */
  readonly writable: boolean;
  /**
   * Runs a saga and resolves once all its changes are durable.
   *
   * @param options.untilDurable Retries while the disk is full, for what must not be lost, such as a settle.
   * @param options.insist Retries for seconds while a partition cannot be reached, for a saga that is of little use if
   *   it stops halfway. It has no effect on a host where a saga is one commit.
   * @throws LedgerUnavailable if it could not be made durable. Whether it took effect is then unknown.
   */
  run<T>(saga: () => Saga<T>, options?: { untilDurable?: boolean; insist?: boolean }): Promise<T>;
  read<Q extends Query>(partition: Partition, query: Q): Promise<AnswerOf<Q>>;
  /** Holds whose lease has lapsed, oldest first. */
  lapsedHolds(at: number, limit: number): Promise<LapsedHold[]>;
  /** Accounts with a due row in a table: those after one, in the order of their partitions. */
  due(table: DueTable, at: number, page: AccountPage): Promise<Partition[]>;
  /**
   * One page of a table, at most `limit` rows after a position: those whose admission or end is before this time. They
   * are the candidates for `forget`.
   */
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): Promise<OverduePage>;
};

export type LapsedHold = { partition: Partition; hold: ReceiptRow };

/**
 * The tables whose rows have a `dueAt`. A bill is due to be sealed, hashed or told, an allowance to be lowered, and an
 * account has a notice to send or to forget.
 */
export type DueTable = "bill" | "allowance" | "account";
export type AccountPage = { after: Partition | null; limit: number };

export type ForgettableTable = Commands["forget"]["command"]["table"];
export type RowPosition = { partition: Partition; id: string };
export type OverdueQuery = { after: RowPosition | null; limit: number };
export type OverduePage = {
  rows: RowPosition[];
  /** Where the next page begins; null if no further row can be overdue. */
  next: RowPosition | null;
};

export class LedgerUnavailable extends Error {
  override name = "LedgerUnavailable";
}
