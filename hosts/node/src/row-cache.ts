import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ForgettableTable, OverduePage, OverdueQuery } from "@inference/ledger/client";
import { staysInMemory } from "@inference/ledger/lasting";
import { type LayeredRows, readRows } from "@inference/ledger/overlay";
import type { Partition } from "@inference/ledger/partition";
import { sqlName, tableNames, timeOrderedTables } from "@inference/ledger/schema";
import { LIVE_KEYS, tableSql, UNRESOLVED_HOLDS } from "@inference/ledger/sql";
import type { Change, HoldRow, OutboxRow, ReadRows, Row, TableName, Tables } from "@inference/ledger/tables";
import { forgettableTables, LAPSED_HOLDS, overdueWalks, toLapsedHold } from "@inference/ledger/walks";
import { addRow, type LogRows } from "./log-rows.ts";

/**
 * A cache of the rows of all partitions. It has the rows that were read or written recently. A changed row is pending
 * until the next commit, and unfolded until it is in its table. Rows that are written once (receipts, uses, resolved
 * holds) and revoked keys leave the cache when they are in their tables.
 */
export type RowCache = {
  partition(name: Partition): ReadRows;
  write(name: Partition, changes: readonly Change[]): void;
  pendingRows(): number;
  /** Takes the pending rows to commit them. They stay in memory until they are in their tables. */
  take(): Batch;
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

/** Rows of one commit: encoded, with their entries and the rows at that time. */
type Batch = { rows: LogRows; entries: Entry[]; taken: readonly (Row | null)[] };

/** One row in memory; null: known not to exist. */
type Entry = {
  partition: CachedPartition;
  table: TableName;
  id: string;
  row: Row | null;
  pending: boolean;
  /** The number of batches with this row that are not folded. */
  beingWritten: number;
};

type CachedPartition = {
  name: Partition;
  tables: { [T in TableName]?: Map<string, Entry> };
  pending: number;
  used: boolean;
  rows: ReadRows;
};

const MAX_KNOWN_GONE = 50_000;
/** About 5 kB each in memory: 600 MB at most. */
const MAX_CACHED_PARTITIONS = 120_000;

export function openRowCache(database: DatabaseSync): RowCache {
  const statements = prepareReads(database);
  const lapsed = database.prepare(LAPSED_HOLDS);
  const liveKeys = database.prepare(LIVE_KEYS);
  const unresolved = database.prepare(UNRESOLVED_HOLDS);
  const layers: LayeredRows<CachedPartition> = {
    get,
    changed: unfoldedRows,
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
  const partitions = new Map<Partition, CachedPartition>();
  /** Entries without a row, in the order of their removal. */
  const gone = new Set<Entry>();
  let pending: Entry[] = [];
  /** Batches that are durable and not known to be folded. */
  let unfolded: { batch: Batch; number: number }[] = [];
  let foldedUntil = 0;

  function cached(name: Partition): CachedPartition {
    const known = partitions.get(name);
    if (known !== undefined) {
      known.used = true;
      return known;
    }
    if (partitions.size >= MAX_CACHED_PARTITIONS) evict(partitions);
    const fresh = { name, tables: {}, pending: 0, used: true } as unknown as CachedPartition;
    fresh.rows = readRows(layers, fresh);
    partitions.set(name, fresh);
    return fresh;
  }

  function get<T extends TableName>(partition: CachedPartition, table: T, id: string): Tables[T] | undefined {
    const known = partition.tables[table]?.get(id);
    if (known !== undefined) return (known.row ?? undefined) as Tables[T] | undefined;
    const last = newest.get(table);
    if (last !== undefined && id > last) return undefined;
    const stored = statements[table].select.get(partition.name, id);
    if (stored === undefined) {
      // The only row of its table, such as `gathering`, is asked for again and again.
      if (id === table) keepGone(remember(partition, table, id, null));
      return undefined;
    }
    const row = tableSql[table].toRow(stored);
    if (staysInMemory(table, row)) remember(partition, table, id, row);
    return row as Tables[T];
  }

  function remember(partition: CachedPartition, table: TableName, id: string, row: Row | null): Entry {
    const entry: Entry = { partition, table, id, row, pending: false, beingWritten: 0 };
    const rows = partition.tables[table];
    if (rows === undefined) partition.tables[table] = new Map([[id, entry]]);
    else rows.set(id, entry);
    return entry;
  }

  function write(name: Partition, changes: readonly Change[]): void {
    const partition = cached(name);
    for (const { table, id, row } of changes) {
      let entry = partition.tables[table]?.get(id);
      if (entry === undefined) entry = remember(partition, table, id, row);
      else entry.row = row;
      if (entry.pending) continue;
      entry.pending = true;
      partition.pending += 1;
      pending.push(entry);
    }
  }

  /** Keeps an entry without a row: rows such as an account's share of the ceiling are soon created again. */
  function keepGone(entry: Entry): void {
    gone.add(entry);
    if (gone.size <= MAX_KNOWN_GONE) return;
    for (const oldest of gone) {
      gone.delete(oldest);
      if (oldest.row === null && isAtRest(oldest)) forget(oldest);
      return;
    }
  }

  function take(): Batch {
    const entries = pending;
    pending = [];
    const rows: LogRows = [];
    const taken: (Row | null)[] = [];
    for (const entry of entries) {
      entry.pending = false;
      entry.beingWritten += 1;
      const { partition, table, id, row } = entry;
      addRow(rows, partition.name, table, id, row);
      taken.push(row);
    }
    return { rows, entries, taken };
  }

  function logged(batch: Batch, number: number): void {
    // They are in the log now.
    batch.rows = [];
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
      batch.entries = batch.entries.map((entry, index) => remade(entry, batch.taken[index] ?? null));
  }

  /** Restores an entry of a durable batch after `discard`. */
  function remade({ partition: { name }, table, id }: Entry, row: Row | null): Entry {
    const partition = cached(name);
    const entry = partition.tables[table]?.get(id) ?? remember(partition, table, id, row);
    entry.row = row;
    entry.beingWritten += 1;
    partition.pending += 1;
    return entry;
  }

  function written({ entries }: Batch): void {
    for (const entry of entries) {
      entry.beingWritten -= 1;
      entry.partition.pending -= 1;
      if (entry.id > (newest.get(entry.table) ?? entry.id)) newest.set(entry.table, entry.id);
      if (!isAtRest(entry)) continue;
      if (entry.row === null) keepGone(entry);
      else if (!staysInMemory(entry.table, entry.row)) forget(entry);
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

/** The entries whose rows differ from their tables. */
function unfoldedRows({ tables }: CachedPartition, table: TableName): Entry[] {
  return [...(tables[table]?.values() ?? [])].filter((entry) => !isAtRest(entry));
}

function isAtRest({ pending, beingWritten }: Entry): boolean {
  return !pending && beingWritten === 0;
}

function forget({ partition, table, id }: Entry): void {
  partition.tables[table]?.delete(id);
}

/** Drops a tenth of the partitions, first those that were not used since the last time. */
function evict(partitions: Map<Partition, CachedPartition>): void {
  let room = Math.floor(partitions.size / 10);
  for (const [name, partition] of partitions) {
    if (room === 0) return;
    if (partition.pending > 0) continue;
    if (partition.used) {
      partition.used = false;
      continue;
    }
    partitions.delete(name);
    room -= 1;
  }
}
