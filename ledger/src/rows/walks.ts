import type { DueTable, ForgettableTable, LapsedHold, OverduePage, OverdueQuery } from "../messages/client.ts";
import type { Partition } from "../messages/partition.ts";
import { keyEnd } from "../rules/key.ts";
import { sqlColumn, sqlName, timeOrderedTables } from "./schema.ts";
import { tableSql } from "./sql.ts";
import type { KeyRow, ReceiptRow, Row } from "./tables.ts";

/** Queries over all partitions of a file or an object, the same for every host. */
type Stored = Readonly<Record<string, unknown>>;

/** Holds by the end of their lease. Bind: the time, the maximum of rows. */
export const LAPSED_HOLDS = `SELECT * FROM receipt_row INDEXED BY hold
  WHERE state IN ('open', 'orphaned') AND lease_until < ? ORDER BY lease_until LIMIT ?`;

export function toLapsedHold(stored: Stored): LapsedHold {
  return { partition: String(stored.partition), hold: tableSql.receipt.toRow(stored) as ReceiptRow };
}

/** The accounts with a due row. Bind: the time, the account before, the maximum. */
export const DUE: Readonly<Record<DueTable, string>> = {
  bill: dueAccounts("bill"),
  allowance: dueAccounts("allowance"),
  account: dueAccounts("account"),
};

function dueAccounts(table: DueTable): string {
  return `SELECT DISTINCT partition FROM ${sqlName(table)} INDEXED BY due_${table}
    WHERE due_at IS NOT NULL AND due_at <= ? AND partition > ? ORDER BY partition LIMIT ?`;
}

export function toPartition(stored: Stored): Partition {
  return String(stored.partition);
}

/** The tables whose rows are forgotten after a time. */
export const forgettableTables: readonly ForgettableTable[] = ["nonce", "session", "claim", "receipt", "key", "record"];

/** The time from which the retention of a row counts; null if it has none yet. */
export function keptFrom(table: ForgettableTable, row: Row): number | null {
  if (table === "key") return keyEnd(row as KeyRow);
  const times = row as Partial<Record<ReturnType<typeof keptProperty>, number | null>>;
  return times[keptProperty(table)] ?? null;
}

function keptProperty(table: Exclude<ForgettableTable, "key">): "admittedAt" | "paidAt" | "expiresAt" {
  return table === "receipt" ? "admittedAt" : table === "record" ? "paidAt" : "expiresAt";
}

/** A walk through one of these tables, page by page, in the order of its rows on disk. */
export type OverdueWalk = {
  /** Bind: the result of `bind`. */
  select: string;
  bind(page: OverdueQuery): [string, string, number];
  toPage(stored: readonly Stored[], before: number, limit: number): OverduePage;
};

/** `keyEnd` in SQL. SQLite's `min` of several values is null if one of them is null. */
const KEY_ENDS = ["revoked_at", "expires_at", "unpaid_until"].map(
  (end) => `ifnull(${end}, ${Number.MAX_SAFE_INTEGER})`,
);
const KEY_END = `nullif(min(${KEY_ENDS.join(", ")}), ${Number.MAX_SAFE_INTEGER})`;

export const overdueWalks = Object.fromEntries(
  forgettableTables.map((table) => [table, makeOverdueWalk(table)]),
) as Record<ForgettableTable, OverdueWalk>;

function makeOverdueWalk(table: ForgettableTable): OverdueWalk {
  const isInTime = timeOrderedTables.includes(table);
  const order = isInTime ? "id, partition" : "partition, id";
  const at = table === "key" ? KEY_END : sqlColumn(keptProperty(table));
  return {
    select: `SELECT partition, id, ${at} AS at FROM ${sqlName(table)} WHERE (${order}) > (?, ?)
      ORDER BY ${order} LIMIT ?`,
    bind({ after, limit }) {
      const { partition = "", id = "" } = after ?? {};
      return isInTime ? [id, partition, limit] : [partition, id, limit];
    },
    toPage(stored, before, limit) {
      const rows = stored.filter((row) => row.at !== null && Number(row.at) < before).map(toPosition);
      const last = stored.at(-1);
      // In a table in the order of time, the first row that is not overdue ends the search.
      const isEnd = stored.length < limit || (isInTime && rows.length < stored.length);
      return { rows, next: last === undefined || isEnd ? null : toPosition(last) };
    },
  };
}

function toPosition({ partition, id }: Stored): { partition: string; id: string } {
  return { partition: String(partition), id: String(id) };
}
