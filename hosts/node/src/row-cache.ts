import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ForgettableTable, OverduePage, OverdueQuery } from "@inference/ledger/client";
import { staysInMemory } from "@inference/ledger/lasting";
import { type LayeredRows, readRows } from "@inference/ledger/overlay";
import type { Partition } from "@inference/ledger/partition";
import { sqlName, tableNames, timeOrderedTables } from "@inference/ledger/schema";
import { LIVE_KEYS, tableSql, UNRESOLVED_HOLDS } from "@inference/ledger/sql";
import type { Change, HoldRow, OutboxRow, ReadRows, Row, TableName, Tables } from "@inference/ledger/tables";
import { forgettableTables, LAPSED_HOLDS, overdueWalks, toLapsedHold } from "@inference/ledger/walks";
import { type Cell, Cells } from "./cells.ts";
import { RecordWriter } from "./log-rows.ts";

/**
 * A cache of the rows of all partitions. It has the rows that were read or written recently. A changed row is pending
 * until the next commit, and unfolded until it is in its table. Rows that are written once (receipts, uses, resolved
 * holds) and revoked keys leave the cache when they are in their tables.
 */
export type RowCache = {
  partition(name: Partition): ReadRows;
  write(name: Partition, changes: readonly Change[]): void;
  pendingRows(): number;
  /**
   * Takes the pending rows to commit them, as a record that is valid until the next call. They stay in memory until
   * they are in their tables.
   */
  take(): { record: Uint8Array; batch: Batch };
  /** The batch is durable, under this number. */
  logged(batch: Batch, number: number): void;
  /** The batches up to this number are in their tables. */
  folded(number: number): void;
  /** Drops all rows that are not durable. */
  discard(): void;
  unresolvedHolds(leaseBefore: number, limit: number): { partition: Partition; hold: HoldRow }[];
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): OverduePage;
  outbox(): { partition: Partition; row: OutboxRow }[];
};

/** The cells of one commit, with their rows at that time. */
type Batch = { cells: Cell[]; taken: readonly (Row | null)[] };

const MAX_KNOWN_GONE = 50_000;
/** About 2.3 kB each in memory: 280 MB at most. */
const MAX_CACHED_PARTITIONS = 120_000;

export function openRowCache(database: DatabaseSync): RowCache {
  const statements = prepareReads(database);
  const lapsed = database.prepare(LAPSED_HOLDS);
  const liveKeys = database.prepare(LIVE_KEYS);
  const unresolved = database.prepare(UNRESOLVED_HOLDS);
  const layers: LayeredRows<Cells> = {
    get,
    changed: (cells, table) => cells.changed(table),
    select: ({ name }, table, order, id, limit) => statements[table][order].all(name, id, limit),
    liveKeys: ({ name }) => liveKeys.all(name),
    unresolvedHolds: ({ name }) => unresolved.all(name),
  };
  const undelivered = database.prepare("SELECT * FROM outbox_row ORDER BY partition, id");
  const overdue = Object.fromEntries(
    forgettableTables.map((table) => [table, database.prepare(overdueWalks[table].select)]),
  ) as Record<ForgettableTable, StatementSync>;
  /** The last id in each table in order of time. A new request is after it, and is not looked for. */
  const newest = new Map(timeOrderedTables.map((table) => [table, lastId(database, table)]));
  const partitions = new Map<Partition, Cells>();
  /** Cells without a row, in the order of their removal. */
  const gone = new Set<Cell>();
  let pending: Cell[] = [];
  const writer = new RecordWriter();
  /** Batches that are durable and not known to be folded. */
  let unfolded: { batch: Batch; number: number }[] = [];
  let foldedUntil = 0;

  function cached(name: Partition): Cells {
    const known = partitions.get(name);
    if (known !== undefined) {
      known.isUsed = true;
      return known;
    }
    if (partitions.size >= MAX_CACHED_PARTITIONS) evict(partitions);
    const fresh = new Cells(name, (cells) => readRows(layers, cells));
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
      // The only row of its table, such as `gathering`, is asked for again and again.
      if (id === table) keepGone(cells.add(table, id, null));
      return undefined;
    }
    const row = tableSql[table].toRow(stored);
    if (staysInMemory(table, row)) cells.add(table, id, row);
    return row as Tables[T];
  }

  function write(name: Partition, changes: readonly Change[]): void {
    const cells = cached(name);
    for (const { table, id, row } of changes) {
      const cell = cells.find(table, id) ?? cells.add(table, id, row);
      cell.row = row;
      if (cell.isPending) continue;
      cell.isPending = true;
      cells.busy += 1;
      pending.push(cell);
    }
  }

  /** Keeps a cell without a row: rows such as an account's share of the ceiling are soon created again. */
  function keepGone(cell: Cell): void {
    gone.add(cell);
    if (gone.size <= MAX_KNOWN_GONE) return;
    for (const oldest of gone) {
      gone.delete(oldest);
      if (oldest.row === null && oldest.isAtRest()) oldest.of.delete(oldest);
      return;
    }
  }

  function take(): { record: Uint8Array; batch: Batch } {
    const cells = pending;
    pending = [];
    const taken = cells.map((cell) => {
      cell.isPending = false;
      cell.beingWritten += 1;
      writer.add(cell.of.name, cell.table, cell.id, cell.row);
      return cell.row;
    });
    return { record: writer.finish(), batch: { cells, taken } };
  }

  function logged(batch: Batch, number: number): void {
    unfolded.push({ batch, number });
    folded(foldedUntil);
  }

  function folded(until: number): void {
    foldedUntil = until;
    // They are in the order of their numbers.
    let known = 0;
    for (const { batch, number } of unfolded) {
      if (number > until) break;
      written(batch);
      known += 1;
    }
    if (known > 0) unfolded = unfolded.slice(known);
  }

  function discard(): void {
    pending = [];
    gone.clear();
    partitions.clear();
    for (const { batch } of unfolded)
      batch.cells = batch.cells.map((cell, index) => remade(cell, batch.taken[index] ?? null));
  }

  /** Restores a cell of a durable batch after `discard`. */
  function remade({ of: { name }, table, id }: Cell, row: Row | null): Cell {
    const cells = cached(name);
    const cell = cells.find(table, id) ?? cells.add(table, id, row);
    cell.row = row;
    cell.beingWritten += 1;
    cells.busy += 1;
    return cell;
  }

  function written({ cells }: Batch): void {
    for (const cell of cells) {
      cell.beingWritten -= 1;
      cell.of.busy -= 1;
      if (cell.id > (newest.get(cell.table) ?? cell.id)) newest.set(cell.table, cell.id);
      if (!cell.isAtRest()) continue;
      if (cell.row === null) keepGone(cell);
      else if (!staysInMemory(cell.table, cell.row)) cell.of.delete(cell);
    }
  }

  return {
    partition: (name) => cached(name).rows,
    write,
    pendingRows: () => pending.length,
    take,
    logged,
    folded,
    discard,
    unresolvedHolds: (leaseBefore, limit) => lapsed.all(leaseBefore, limit).map(toLapsedHold),
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

type Reads = Record<TableName, Record<"select" | "list" | "newest", StatementSync>>;

function prepareReads(database: DatabaseSync): Reads {
  const ofTable = (table: TableName) => {
    const { select, list, newest } = tableSql[table];
    return { select: database.prepare(select), list: database.prepare(list), newest: database.prepare(newest) };
  };
  return Object.fromEntries(tableNames.map((table) => [table, ofTable(table)])) as Reads;
}

function lastId(database: DatabaseSync, table: TableName): string {
  return String(database.prepare(`SELECT coalesce(max(id), '') AS id FROM ${sqlName(table)}`).get()?.id);
}

/** Drops a tenth of the partitions, first those that were not used since the last time. */
function evict(partitions: Map<Partition, Cells>): void {
  let room = Math.floor(partitions.size / 10);
  for (const [name, partition] of partitions) {
    if (room === 0) return;
    if (partition.busy > 0) continue;
    if (partition.isUsed) {
      partition.isUsed = false;
      continue;
    }
    partitions.delete(name);
    room -= 1;
  }
}
