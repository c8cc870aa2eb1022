import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  AccountPage,
  DueTable,
  ForgettableTable,
  LapsedHold,
  OverduePage,
  OverdueQuery,
} from "@inference/ledger/client";
import { staysInMemory } from "@inference/ledger/lasting";
import { type LayeredRows, PartitionRows } from "@inference/ledger/overlay";
import type { Partition } from "@inference/ledger/partition";
import { sqlName, tableNames, timeOrderedTables } from "@inference/ledger/schema";
import { HOLDS, LIVE_KEYS, tableSql } from "@inference/ledger/sql";
import {
  type Change,
  isHold,
  type KeyRow,
  type OutboxRow,
  type ReadRows,
  type ReceiptRow,
  type TableName,
  type Tables,
} from "@inference/ledger/tables";
import { DUE, forgettableTables, LAPSED_HOLDS, overdueWalks, toLapsedHold, toPartition } from "@inference/ledger/walks";
import { type Cell, Cells } from "./cells.ts";
import type { Changes } from "./commit.ts";

/**
 * A cache of the rows of all partitions. It has the rows that were read or written recently. A changed row is pending
 * until the next commit takes it, and in its table when that commit is durable. Rows that are written once (ended
 * receipts, uses) and revoked keys then leave the cache.
 */
export type RowCache = {
  partition(name: Partition): ReadRows;
  write(name: Partition, changes: readonly Change[]): void;
  pendingRows(): number;
  /** Takes the pending rows for the next commit. The one before is durable. */
  take(): Changes;
  /** The rows taken last are in the tables. */
  committed(): void;
  /** Drops all rows. Rows that are not in the tables are lost. */
  discard(): void;
  holds(leaseBefore: number, limit: number): LapsedHold[];
  due(table: DueTable, at: number, page: AccountPage): Partition[];
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): OverduePage;
  outbox(): { partition: Partition; row: OutboxRow }[];
};

const MAX_KNOWN_GONE = 50_000;
/** About 2 kB each in memory: 240 MB at most. */
const MAX_CACHED_PARTITIONS = 120_000;

export function openRowCache(database: DatabaseSync): RowCache {
  const statements = prepareReads(database);
  const lapsed = database.prepare(LAPSED_HOLDS);
  const liveKeys = database.prepare(LIVE_KEYS);
  const holds = database.prepare(HOLDS);
  const due: Record<DueTable, StatementSync> = {
    bill: database.prepare(DUE.bill),
    allowance: database.prepare(DUE.allowance),
    account: database.prepare(DUE.account),
  };
  const layers: LayeredRows<Cells> = {
    get,
    changed: (cells, table) => cells.changed(table, durable),
    select: ({ name }, table, order, id, limit) =>
      statements[table][order].all(name, id, limit).map(tableSql[table].toRow),
    liveKeys: ({ name }) => liveKeys.all(name).map(tableSql.key.toRow) as KeyRow[],
    holds: holdsOf,
  };
  const undelivered = database.prepare("SELECT * FROM outbox_row ORDER BY partition, id");
  const overdue = Object.fromEntries(
    forgettableTables.map((table) => [table, database.prepare(overdueWalks[table].select)]),
  ) as Record<ForgettableTable, StatementSync>;
  /** The last id in each table in order of time. A new request is after it, and is not looked for. */
  const newest = new Map<TableName, string>(
    timeOrderedTables.map((table) => [table, String(database.prepare(maxId(table)).get()?.id)]),
  );
  const partitions = new Map<Partition, Cells>();
  let pending: Cell[] = [];
  /** The cells of the commit under way. */
  let taken: Cell[] = [];
  /** Cells whose row is removed from its table too. */
  const gone = new Set<Cell>();
  /** The commits of this process have numbers: the last durable one, and the next one. */
  let durable = 0;
  let next = 1;

  function cached(name: Partition): Cells {
    const known = partitions.get(name);
    if (known !== undefined) {
      known.isUsed = true;
      return known;
    }
    if (partitions.size >= MAX_CACHED_PARTITIONS) evict(partitions, durable);
    const fresh = new Cells(name, (cells) => new PartitionRows(layers, cells));
    partitions.set(name, fresh);
    return fresh;
  }

  function get<T extends TableName>(cells: Cells, table: T, id: string): Tables[T] | undefined {
    const known = cells.find(table, id);
    if (known !== undefined) return (known.row ?? undefined) as Tables[T] | undefined;
    const last = newest.get(table);
    if (last !== undefined && id > last) return undefined;
    const stored = statements[table].select.get(cells.name, id);
    if (stored === undefined) {
      // The only row of its table, such as `cursor`, and a counter are asked for again and again.
      if (id === table || table === "counter") keepGone(cells.add(table, id, null));
      return undefined;
    }
    const row = tableSql[table].toRow(stored);
    // The row's own id: the requested id may be a slice of a longer text.
    if (staysInMemory(table, row)) cells.add(table, row.id, row);
    return row as Tables[T];
  }

  /** A reserve reads them, so they are read from the table once. */
  function holdsOf(cells: Cells): ReceiptRow[] {
    if (!cells.hasHolds) {
      for (const row of holds.all(cells.name).map(tableSql.receipt.toRow)) {
        if (cells.find("receipt", row.id) === undefined) cells.add("receipt", row.id, row);
      }
      cells.hasHolds = true;
    }
    const rows = cells.all("receipt").map(({ row }) => row as ReceiptRow | null);
    return rows.filter((row) => row !== null && isHold(row)) as ReceiptRow[];
  }

  function write(name: Partition, changes: readonly Change[]): void {
    const cells = cached(name);
    cells.commit = next;
    for (const { table, id, row } of changes) {
      const cell = cells.find(table, id) ?? cells.add(table, id, row);
      cell.row = row;
      if (cell.commit !== next) pending.push(cell);
      cell.commit = next;
    }
  }

  function take(): Changes {
    const changes: Changes = {};
    for (const { of, table, id, row } of pending) {
      changes[table] ??= { written: [], removed: [] };
      if (row === null) changes[table].removed.push([of.name, id]);
      else changes[table].written.push(tableSql[table].toColumns(of.name, row));
    }
    taken = pending;
    pending = [];
    next += 1;
    return changes;
  }

  function committed(): void {
    durable = next - 1;
    for (const cell of taken) {
      const { table, id, row } = cell;
      const last = newest.get(table);
      if (last !== undefined && id > last) newest.set(table, id);
      // It is written again in the next commit.
      if (cell.commit > durable) continue;
      if (row === null) keepGone(cell);
      else if (!staysInMemory(table, row)) cell.of.delete(cell);
    }
    taken = [];
  }

  /** Keeps a cell without a row: rows such as an account's share of the ceiling are soon created again. */
  function keepGone(cell: Cell): void {
    gone.add(cell);
    if (gone.size <= MAX_KNOWN_GONE) return;
    for (const known of gone) if (known.row === null && known.commit <= durable) known.of.delete(known);
    gone.clear();
  }

  function discard(): void {
    pending = [];
    taken = [];
    gone.clear();
    partitions.clear();
  }

  return {
    partition: (name) => cached(name).rows,
    write,
    pendingRows: () => pending.length,
    take,
    committed,
    discard,
    holds: (leaseBefore, limit) => lapsed.all(leaseBefore, limit).map(toLapsedHold),
    due: (table, at, { after, limit }) => due[table].all(at, after ?? "", limit).map(toPartition),
    overdue(table, before, page) {
      const walk = overdueWalks[table];
      return walk.toPage(overdue[table].all(...walk.bind(page)), before, page.limit);
    },
    outbox: () =>
      undelivered.all().map((stored) => ({
        partition: String(stored.partition),
        row: tableSql.outbox.toRow(stored) as OutboxRow,
      })),
  };
}

function maxId(table: TableName): string {
  return `SELECT coalesce(max(id), '') AS id FROM ${sqlName(table)}`;
}

type Reads = Record<TableName, Record<"select" | "list" | "newest", StatementSync>>;

function prepareReads(database: DatabaseSync): Reads {
  const ofTable = (table: TableName) => {
    const { select, list, newest } = tableSql[table];
    return { select: database.prepare(select), list: database.prepare(list), newest: database.prepare(newest) };
  };
  return Object.fromEntries(tableNames.map((table) => [table, ofTable(table)])) as Reads;
}

/** Drops a tenth of the partitions that are as in the tables, first those that were not used since the last time. */
function evict(partitions: Map<Partition, Cells>, durable: number): void {
  let room = Math.floor(partitions.size / 10);
  for (const [name, partition] of partitions) {
    if (room === 0) return;
    if (partition.commit > durable) continue;
    if (partition.isUsed) {
      partition.isUsed = false;
      continue;
    }
    partitions.delete(name);
    room -= 1;
  }
}
