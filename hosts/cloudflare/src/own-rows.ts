import type { SqlStorage } from "@cloudflare/workers-types";
import type { ForgettableTable, LapsedHold, OverduePage, OverdueQuery } from "@inference/ledger/client";
import type { Partition } from "@inference/ledger/partition";
import { createStatements, sqlName, timeOrderedTables } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import type { Change, HoldRow, OutboxRow, ReadRows } from "@inference/ledger/tables";

/** The rows of the one partition that an object is, in its own SQLite. */
export type OwnRows = {
  of(partition: Partition): ReadRows;
  write(partition: Partition, changes: readonly Change[]): void;
  /** Deliveries that nobody has acknowledged, after an id. */
  outbox(after: string, limit: number): { partition: Partition; row: OutboxRow }[];
  lapsedHolds(at: number, limit: number): LapsedHold[];
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): OverduePage;
  /** When the first lease of an unresolved hold lapses. */
  firstLease(): number | undefined;
  /** Whether there is anything that will be forgotten some day. */
  isForgettable(): boolean;
};

const forgettable: readonly ForgettableTable[] = ["hold", "receipt", "nonce", "session", "claim"];

export function openOwnRows(sql: SqlStorage): OwnRows {
  if (sql.exec("SELECT count(*) AS n FROM sqlite_master WHERE name = 'hold_row'").one().n === 0) {
    for (const statement of createStatements()) sql.exec(statement);
  }
  const select = (statement: string, ...values: (string | number)[]) => sql.exec(statement, ...values).toArray();

  return {
    of(partition) {
      return {
        get: (table, id) => {
          const [stored] = select(tableSql[table].select, partition, id);
          return (stored === undefined ? undefined : tableSql[table].toRow(stored)) as never;
        },
        list: (table, { after = "", limit }) =>
          select(tableSql[table].list, partition, after, limit).map(tableSql[table].toRow) as never,
        newest: (table, { before, limit }) =>
          select(tableSql[table].newest, partition, before, limit).map(tableSql[table].toRow) as never,
      };
    },
    write(partition, changes) {
      for (const { table, id, row } of changes) {
        if (row === null) sql.exec(tableSql[table].remove, partition, id);
        else sql.exec(tableSql[table].upsert, ...tableSql[table].toColumns(partition, row));
      }
    },
    outbox: (after, limit) =>
      select("SELECT * FROM outbox_row WHERE id > ? ORDER BY partition, id LIMIT ?", after, limit).map((stored) => ({
        partition: String(stored.partition),
        row: tableSql.outbox.toRow(stored) as OutboxRow,
      })),
    lapsedHolds: (at, limit) =>
      select(
        `SELECT * FROM hold_row WHERE state IN ('open', 'orphaned') AND lease_until < ? ORDER BY lease_until LIMIT ?`,
        at,
        limit,
      ).map((stored) => ({ partition: String(stored.partition), hold: tableSql.hold.toRow(stored) as HoldRow })),
    overdue(table, before, { after, limit }) {
      const at = table === "hold" || table === "receipt" ? "admitted_at" : "expires_at";
      const order = isInTime(table) ? "id, partition" : "partition, id";
      const { partition = "", id = "" } = after ?? {};
      const position = isInTime(table) ? [id, partition] : [partition, id];
      const page = select(
        `SELECT partition, id, ${at} AS at FROM ${sqlName(table)} WHERE (${order}) > (?, ?) ORDER BY ${order} LIMIT ?`,
        ...position,
        limit,
      ).map((stored) => ({ partition: String(stored.partition), id: String(stored.id), at: Number(stored.at) }));
      const rows = page.filter((row) => row.at < before);
      // Where rows lie in the order of their time, none is overdue after one that is not.
      const isEnd = page.length < limit || (isInTime(table) && rows.length < page.length);
      return { rows, next: isEnd ? null : (page.at(-1) ?? null) };
    },
    firstLease() {
      const [first] = select(
        "SELECT lease_until FROM hold_row WHERE state IN ('open', 'orphaned') ORDER BY lease_until LIMIT 1",
      );
      return first === undefined ? undefined : Number(first.lease_until);
    },
    isForgettable: () => forgettable.some((table) => select(`SELECT 1 FROM ${sqlName(table)} LIMIT 1`).length > 0),
  };
}

function isInTime(table: ForgettableTable): boolean {
  return timeOrderedTables.includes(table);
}
