import type { DueTable, ForgettableTable, LapsedHold, OverduePage, OverdueQuery } from "@inference/ledger/client";
import { byId, type LayeredRows, overlay, readRows } from "@inference/ledger/overlay";
import type { Partition } from "@inference/ledger/partition";
import { HOLDS, LIVE_KEYS, tableSql } from "@inference/ledger/sql";
import {
  type AccountRow,
  type AllowanceRow,
  type BillRow,
  type Change,
  isHold,
  type OutboxRow,
  type ReadRows,
  type ReceiptRow,
  type TableName,
} from "@inference/ledger/tables";
import { LAPSED_HOLDS, overdueWalks } from "@inference/ledger/walks";
import { type OwnSchema, openSchema } from "./own-schema.ts";
import { type LogBounds, usualBounds } from "./row-log.ts";
import { type ObjectStorage, openRowMemory, type RowMemory } from "./row-memory.ts";
import { packedTables } from "./row-segments.ts";

/** The rows of an object's partition, in its own SQLite. */
export type OwnRows = {
  of(partition: Partition): ReadRows;
  /** The partition of its rows. @throws If it has none and was asked for none. */
  partition(): Partition;
  /** Writes to memory. Nothing is in the storage until `commit`. */
  write(partition: Partition, changes: readonly Change[]): void;
  /** Stores all writes since the last commit, as one row. If it throws, none of them is stored. */
  commit(): void;
  /** Marks deliveries as made. Before the next commit they may still be made again. */
  acknowledge(ids: readonly string[]): void;
  /** Deliveries that are not acknowledged, as a new list. `undelivered` is cheaper. */
  outbox(): OutboxRow[];
  undelivered(): number;
  /** Whether there are acknowledgements that are not committed. */
  hasAcknowledged(): boolean;
  /** Whether the object has no row at all, and could be deleted. */
  isEmpty(): boolean;
  /** Writes a long log anew, for an object that will be idle. */
  shorten(): void;
  /** Reads everything again, after the storage was changed. */
  reopen(): void;
  lapsedHolds(at: number, limit: number): LapsedHold[];
  /** When the account's bill, one of its allowances or its notices are looked at next. */
  dueAt(table: DueTable): number | undefined;
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): OverduePage;
  /** When the first lease of an unresolved hold lapses. */
  firstLease(): number | undefined;
  /** The earliest time from which the retention of a row of the table counts. */
  firstKept(table: ForgettableTable): number | undefined;
};

/**
 * An object with this many open deliveries admits no new requests, and only ends those in progress. The deliveries take
 * 5 MB, and 0.03 s when the object wakes. An isolate has 128 MB for all its objects.
 */
export const MOST_UNDELIVERED = 10_000;

/** Opens the rows, and adds columns that the object's tables lack. */
export function openOwnRows(storage: ObjectStorage, bounds: LogBounds = usualBounds): OwnRows {
  let opened: { schema: OwnSchema; rows: RowMemory } | undefined = open();

  function open(): { schema: OwnSchema; rows: RowMemory } {
    const schema = storage.transactionSync(() => openSchema(storage.sql));
    return { schema, rows: openRowMemory(storage, schema, bounds) };
  }

  function memory(): RowMemory {
    opened ??= open();
    return opened.rows;
  }

  function has(table: TableName): boolean {
    opened ??= open();
    return opened.schema.has(table);
  }

  function store(work: (rows: RowMemory) => void): void {
    try {
      work(memory());
    } catch (error) {
      // Memory is ahead of the storage, so it is read again.
      opened = undefined;
      throw error;
    }
  }

  function own(partition: Partition): RowMemory {
    memory().own(partition);
    return memory();
  }

  function select(table: TableName, statement: string, ...values: (string | number)[]): Stored[] {
    return has(table) ? storage.sql.exec(statement, ...values).toArray() : [];
  }

  function packed(table: TableName, order: "list" | "newest", id: string, limit: number): readonly Stored[] {
    return packedTables.includes(table) ? memory().segments.list(table, order, id, limit) : [];
  }

  /** Selects rows before the partition is known, and learns its name from them. */
  function selectAny(table: TableName, statement: string, ...values: (string | number)[]): Stored[] {
    const stored = select(table, statement, ...values);
    for (const { partition } of stored.slice(0, 1)) own(String(partition));
    return stored;
  }

  /** Holds whose lease lapses before a time, the first ones first. */
  function lapsedHolds(at: number, limit: number): LapsedHold[] {
    const changed = memory().unfolded("receipt");
    const stored = selectAny("receipt", LAPSED_HOLDS, at, limit + changed.length).map(tableSql.receipt.toRow);
    const holds = (overlay(stored, changed) as ReceiptRow[]).filter((hold) => isHold(hold) && hold.leaseUntil < at);
    holds.sort((one, other) => one.leaseUntil - other.leaseUntil);
    return holds.slice(0, limit).map((hold) => ({ partition: memory().partition(), hold }));
  }

  const layers: LayeredRows<RowMemory> = {
    get: (rows, table, id) => rows.get(table, id),
    changed: (rows, table) => rows.unfolded(table),
    select: (rows, table, order, id, limit) => [
      ...select(table, tableSql[table][order], rows.partition(), id, limit),
      ...packed(table, order, id, limit),
    ],
    liveKeys: (rows) => select("key", LIVE_KEYS, rows.partition()),
    holds(rows) {
      const stored = select("receipt", HOLDS, rows.partition()).map(tableSql.receipt.toRow);
      return (overlay(stored, rows.unfolded("receipt")) as ReceiptRow[]).filter(isHold);
    },
  };

  return {
    of: (partition) => readRows(layers, own(partition)),
    partition: () => memory().partition(),
    write: (partition, changes) => own(partition).write(changes),
    commit: () => store((rows) => rows.commit()),
    acknowledge: (ids) => memory().write(ids.map((id) => ({ table: "outbox", id, row: null }))),
    outbox: () => memory().outbox(),
    undelivered: () => memory().undelivered(),
    hasAcknowledged: () => memory().hasAcknowledged(),
    isEmpty: () => memory().isEmpty(),
    shorten: () => store((rows) => rows.shorten()),
    reopen() {
      opened = undefined;
    },
    lapsedHolds,
    dueAt(table) {
      const stored = selectAny(table, DUE[table]).map(tableSql[table].toRow);
      const rows = overlay(stored, memory().unfolded(table)) as (AccountRow | AllowanceRow | BillRow)[];
      const times = rows.flatMap(({ dueAt }) => dueAt ?? []);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    overdue(table, before, page) {
      const { select: statement, bind, atOf, toPage } = overdueWalks[table];
      const changed = memory()
        .unfolded(table)
        .filter(({ id }) => id > (page.after?.id ?? ""));
      const limit = page.limit + changed.length;
      const stored = selectAny(table, statement, ...bind({ ...page, limit }));
      const inSegments = packed(table, "list", page.after?.id ?? "", limit);
      const rows = overlay(
        [
          ...stored.map(({ id, at }) => ({ id: String(id), at })),
          ...inSegments.map(({ id, admitted_at: at }) => ({ id: String(id), at })),
        ],
        changed,
        (row) => ({ id: row.id, at: atOf(row) }),
      );
      const found = rows.sort(byId).slice(0, page.limit);
      return toPage(
        found.map((row) => ({ ...row, partition: memory().partition() })),
        before,
        page.limit,
      );
    },
    firstLease: () => lapsedHolds(Number.MAX_SAFE_INTEGER, 1)[0]?.hold.leaseUntil,
    firstKept(table) {
      const { first, atOf } = overdueWalks[table];
      const changed = memory().unfolded(table);
      const ids = new Set(changed.map(({ id }) => id));
      const [stored] = select(table, first, JSON.stringify([...ids]));
      const inSegment = packed(table, "list", "", ids.size + 1).find(({ id }) => !ids.has(String(id)));
      const times = [
        stored?.at ?? null,
        inSegment?.admitted_at ?? null,
        ...changed.map(({ row }) => (row === null ? null : atOf(row))),
      ];
      const known = times.filter((at) => at !== null).map(Number);
      return known.length === 0 ? undefined : Math.min(...known);
    },
  };
}

const DUE: Readonly<Record<DueTable, string>> = {
  account: "SELECT * FROM account_row INDEXED BY due_account WHERE due_at IS NOT NULL",
  allowance: "SELECT * FROM allowance_row INDEXED BY due_allowance WHERE due_at IS NOT NULL",
  bill: "SELECT * FROM bill_row INDEXED BY due_bill WHERE due_at IS NOT NULL",
};

type Stored = Readonly<Record<string, unknown>>;
