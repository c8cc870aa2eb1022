import type { DueTable, ForgettableTable, LapsedHold, OverduePage, OverdueQuery } from "@inference/ledger/client";
import { byId, type LayeredRows, PartitionRows } from "@inference/ledger/overlay";
import type { Partition } from "@inference/ledger/partition";
import {
  type Change,
  isHold,
  type KeyRow,
  type OutboxRow,
  type ReadRows,
  type ReceiptRow,
  type Row,
  type TableName,
} from "@inference/ledger/tables";
import { keptFrom } from "@inference/ledger/walks";
import { SWEEP_WITHIN_MS } from "./partition-limits.ts";
import { type LogBounds, type StoredRow, usualBounds } from "./row-log.ts";
import { completed, type ObjectStorage, type OnFold, openRowMemory, type RowMemory } from "./row-memory.ts";

/** The rows of an object's partition, in its own SQLite. */
export type OwnRows = Pick<RowMemory, FromMemory> & {
  of(partition: Partition): ReadRows;
  /** Writes to memory. Nothing is in the storage until `commit`. */
  write(partition: Partition, changes: readonly Change[]): void;
  /** Stores all writes since the last commit, as one row. If it throws, none of them is stored. */
  commit(): void;
  /** Marks deliveries as made. Before the next commit they may still be made again. */
  acknowledge(ids: readonly string[]): void;
  /** Deliveries that are not acknowledged, as a new list. `undelivered` is cheaper. */
  outbox(): OutboxRow[];
  /** Reads everything again, after the storage was changed. */
  reopen(): void;
  lapsedHolds(at: number, limit: number): LapsedHold[];
  /** When the account's bill, one of its allowances or its notices are looked at next. */
  dueAt(table: DueTable): number | undefined;
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): OverduePage;
  /** When the alarm has to look at a hold. */
  firstLook(): number | undefined;
  /** The earliest time from which the retention of a row of the table counts. */
  firstKept(table: ForgettableTable): number | undefined;
};
type FromMemory = "partition" | "undelivered" | "hasAcknowledged" | "isEmpty" | "nextFold" | "countFrom" | "shorten";

/**
 * An object with this many open deliveries admits no new requests, and only ends those in progress. The deliveries take
 * 5 MB, and 0.03 s when the object wakes. An isolate has 128 MB for all its objects.
 */
export const MOST_UNDELIVERED = 10_000;

/** Opens the rows, and writes nothing. */
export function openOwnRows(storage: ObjectStorage, bounds: LogBounds = usualBounds, onFold?: OnFold): OwnRows {
  let opened: RowMemory | undefined = openRowMemory(storage, bounds, onFold);

  function memory(): RowMemory {
    opened ??= openRowMemory(storage, bounds, onFold);
    return opened;
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

  /** The rows that may be open: `RowMemory` has all open ones among them. */
  function changed<R extends Row>(table: TableName): R[] {
    return memory()
      .changed(table)
      .flatMap(({ row }) => (row as R | null) ?? []);
  }

  function holds(): ReceiptRow[] {
    return changed<ReceiptRow>("receipt").filter(isHold);
  }

  /** Holds whose lease lapses before a time, the first ones first. */
  function lapsedHolds(at: number, limit: number): LapsedHold[] {
    const lapsed = holds().filter(({ leaseUntil }) => leaseUntil < at);
    lapsed.sort((one, other) => one.leaseUntil - other.leaseUntil);
    return lapsed.slice(0, limit).map((hold) => ({ partition: memory().partition(), hold }));
  }

  /** Rows of a segment that were not changed since, with the times from which their retention counts. */
  function keptIn(table: ForgettableTable, rows: Iterable<StoredRow>): { id: string; kept: number }[] {
    return keptOf(
      table,
      Array.from(rows, (row) => completed(table, row)).filter(({ id }) => !memory().isChanged(table, id)),
    );
  }

  function firstKept(table: ForgettableTable): number | undefined {
    let first = least(keptOf(table, changed(table)).map(({ kept }) => kept));
    for (const segment of memory().segments.byKept(table)) {
      if (segment.kept >= first) break;
      first = Math.min(first, least(keptIn(table, segment.rows).map(({ kept }) => kept)));
    }
    return first === NEVER ? undefined : first;
  }

  function overdue(table: ForgettableTable, before: number, { after, limit }: OverdueQuery): OverduePage {
    const from = after?.id ?? "";
    const isOverdue = ({ id, kept }: { id: string; kept: number }) => id > from && kept < before;
    const found: { id: string }[] = [];
    for (const rows of memory().segments.overdue(table, before, from)) {
      found.push(...keptIn(table, rows).filter(isOverdue));
      if (found.length >= limit) break;
    }
    found.push(...keptOf(table, changed(table)).filter(isOverdue));
    const page = found.sort(byId).slice(0, limit);
    const rows = page.map(({ id }) => ({ partition: memory().partition(), id }));
    return { rows, next: rows.length < limit ? null : (rows.at(-1) ?? null) };
  }

  const layers: LayeredRows<RowMemory> = {
    get: (rows, table, id) => rows.get(table, id),
    changed: (rows, table) => rows.changed(table),
    select: ({ segments }, table, order, id, limit) =>
      segments.list(table, order, id, limit).map((row) => completed(table, row)),
    liveKeys: ({ segments }) =>
      segments.list("key", "list", "", Number.POSITIVE_INFINITY).map((row) => completed("key", row) as KeyRow),
    holds,
  };

  return {
    of: (partition) => new PartitionRows(layers, own(partition)),
    partition: () => memory().partition(),
    write: (partition, changes) => own(partition).write(changes),
    commit: () => store((rows) => rows.commit()),
    acknowledge: (ids) => memory().write(ids.map((id) => ({ table: "outbox", id, row: null }))),
    outbox: () => changed("outbox"),
    undelivered: () => memory().undelivered(),
    hasAcknowledged: () => memory().hasAcknowledged(),
    isEmpty: () => memory().isEmpty(),
    nextFold: () => memory().nextFold(),
    countFrom: (fold) => memory().countFrom(fold),
    shorten: () => store((rows) => rows.shorten()),
    reopen() {
      opened = undefined;
    },
    lapsedHolds,
    dueAt(table) {
      const first = least(changed<Row & { dueAt: number | null }>(table).flatMap(({ dueAt }) => dueAt ?? []));
      return first === NEVER ? undefined : first;
    },
    overdue,
    firstLook() {
      const first = least(holds().map(lookAt));
      return first === NEVER ? undefined : first;
    },
    firstKept,
  };
}

/** A hold that was orphaned is ended at its lease: the provider's record of it was given time. */
export function lookAt({ state, leaseUntil }: ReceiptRow): number {
  return leaseUntil + 1 + (state === "open" ? SWEEP_WITHIN_MS : 0);
}

const NEVER = Number.MAX_SAFE_INTEGER;

function keptOf(table: ForgettableTable, rows: readonly Row[]): { id: string; kept: number }[] {
  return rows.flatMap((row) => {
    const kept = keptFrom(table, row);
    return kept === null ? [] : [{ id: row.id, kept }];
  });
}

function least(times: readonly number[]): number {
  return times.reduce((first, at) => Math.min(first, at), NEVER);
}
