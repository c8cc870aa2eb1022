import type { DurableObjectStorage } from "@cloudflare/workers-types";
import { staysInMemory } from "@inference/ledger/lasting";
import type { Partition } from "@inference/ledger/partition";
import { columnsOf, tableNames } from "@inference/ledger/schema";
import { type Change, isHold, type ReceiptRow, type Row, type TableName } from "@inference/ledger/tables";
import { forgettableTables, keptFrom } from "@inference/ledger/walks";
import { pack } from "./packed-text.ts";
import {
  CREATE_LOG,
  type LogBounds,
  PACKED_VERSION,
  readLog,
  type StoredChange,
  type StoredRow,
  writeLog,
} from "./row-log.ts";
import { openSegments, type Segments } from "./row-segments.ts";

export type ObjectStorage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * The rows of an object: memory over a log over segments. Writes go to memory, and `commit` appends them to the log as
 * one row. A commit that finds the log full writes each changed row into the segment of its kind and id. Rows that were
 * created and removed meanwhile cost nothing.
 *
 * **Open** rows will soon change again, or are found by something other than their id: holds, deliveries, rows with a
 * due time, and rows of a kind that only a later version knows. All of them are in memory. They stay in the log when it
 * is folded. If they are too many, they go into segments of their own, which are read when the object wakes. The
 * segment of their kind may then have them as they were before.
 *
 * After an error of `commit` it cannot be used, and the caller opens another one.
 */
export type RowMemory = {
  /** Sets the partition. Throws if it was set to another one. */
  own(partition: Partition): void;
  /** @throws If it was not set. */
  partition(): Partition;
  get(table: TableName, id: string): Row | undefined;
  /** Writes to memory, and keeps properties that a row does not name. Nothing is stored until the next `commit`. */
  write(changes: readonly Change[]): void;
  commit(): void;
  /** The rows that the segments of their kind lack, or have as they were before. All open ones are among them. */
  changed(table: TableName): Entry[];
  isChanged(table: TableName, id: string): boolean;
  /** The rows in segments. Some may have been changed or removed since. */
  readonly segments: Pick<Segments, "list" | "byKept" | "overdue">;
  /** The number of deliveries that are not acknowledged. */
  undelivered(): number;
  /** Whether any were acknowledged since the last `commit`. */
  hasAcknowledged(): boolean;
  /** Whether the object has no row at all. */
  isEmpty(): boolean;
  nextFold(): Fold;
  /** Gives the next fold a number. Throws if the object has rows. */
  countFrom(fold: number): void;
  /** Rewrites a log of several rows as a packed one, for an object that will be idle. It costs three row writes. */
  shorten(): void;
};

/** One row in memory; null: known not to exist. */
export type Entry = { readonly table: TableName; readonly id: string; row: Row | null };

/** The number of a fold, and the rows that it writes, as JSON. */
export type Fold = { partition: Partition | undefined; fold: number; changes: string };
/** Is told of each fold that is stored. */
export type OnFold = (fold: Fold) => void;

export function openRowMemory(storage: ObjectStorage, bounds: LogBounds, onFold?: OnFold): RowMemory {
  const { sql } = storage;
  const names = new Set(
    sql
      .exec(STORED)
      .toArray()
      .map(({ name }) => name),
  );
  let hasLog = names.has("log");
  const segments = openSegments(sql, {
    isStored: names.has("segment"),
    charactersOf: (kind) => bounds.characters / (inOrderOfTime.has(kind) ? 2 : 16),
    isPacked: (kind) => inOrderOfTime.has(kind),
    keptFrom: (kind, row) => keptOf(kind, row as unknown as Row),
  });
  const tables = new Map<TableName, Map<string, Entry>>();
  let remembered = 0;
  let undelivered = 0;
  /** Entries of the log. */
  let logged = new Set<Entry>();
  /** Those that are not in the log yet. */
  const unwritten = new Set<Entry>();
  /** Entries that the segments of open rows have, perhaps as they were before. */
  const spilled = new Set<Entry>();

  for (const { kind, rows } of segments.all(OPEN)) {
    if (!kind.startsWith(OPEN)) break;
    const table = kind.slice(OPEN.length) as TableName;
    for (const row of rows) spilled.add(set(table, row.id, completed(table, row)));
  }
  const { log, changes } = hasLog ? readLog(sql) : noLog();
  for (const { table, id, row } of changes) {
    logged.add(set(table as TableName, id, row && completed(table as TableName, row)));
  }

  function named(): Partition {
    if (log.partition === undefined) throw new Error("These rows are nobody's yet.");
    return log.partition;
  }

  function find(table: TableName, id: string): Entry | undefined {
    return tables.get(table)?.get(id);
  }

  function set(table: TableName, id: string, row: Row | null): Entry {
    const known = find(table, id);
    if (table === "outbox") undelivered += Number(row !== null) - Number((known?.row ?? null) !== null);
    if (known !== undefined) {
      known.row = row;
      return known;
    }
    remembered += 1;
    if (remembered > MOST_REMEMBERED) forgetClean();
    const entry: Entry = { table, id, row };
    const entries = tables.get(table) ?? new Map<string, Entry>();
    tables.set(table, entries.set(id, entry));
    return entry;
  }

  function get(table: TableName, id: string): Row | undefined {
    const known = find(table, id);
    if (known !== undefined) return known.row ?? undefined;
    const stored = segments.get(table, id);
    const row = stored === undefined ? null : completed(table, stored);
    if (row === null || staysInMemory(table, row)) set(table, id, row);
    return row ?? undefined;
  }

  function write(written: readonly Change[]): void {
    // Reads first, because a read may fail: a command must be in memory as a whole or not at all.
    const whole = written.map(({ table, id, row }) => ({ table, id, row: row && { ...get(table, id), ...row } }));
    for (const { table, id, row } of whole) {
      const entry = set(table, id, row as Row | null);
      logged.add(entry);
      unwritten.add(entry);
    }
  }

  function commit(): void {
    if (unwritten.size === 0) return;
    const text = textOf(unwritten);
    const isFull = log.slots >= bounds.slots || log.characters + text.length > bounds.characters;
    const folded = isFull && onFold !== undefined ? nextFold() : undefined;
    if (!isFull && hasLog) append(text);
    else
      storage.transactionSync(() => {
        makeLog();
        if (isFull) fold();
        else append(text);
      });
    unwritten.clear();
    if (folded !== undefined) onFold?.(folded);
  }

  function nextFold(): Fold {
    return { partition: log.partition, fold: log.fold, changes: textOf(logged) };
  }

  function makeLog(): void {
    if (!hasLog) sql.exec(CREATE_LOG);
    hasLog = true;
  }

  function append(text: string, stored = text): void {
    log.slots += 1;
    log.characters += text.length;
    writeLog(sql, named(), log, stored);
  }

  /** Releases that cannot unpack refuse the object from now on. */
  function raiseVersion(): void {
    log.version = Math.max(log.version, PACKED_VERSION);
  }

  function fold(): void {
    const open = [...logged].filter(isOpen);
    const text = textOf(open);
    const staying = new Set(text.length <= bounds.characters / 2 ? open : []);
    const byKind = new Map<string, Map<string, StoredRow | null>>();
    const put = (kind: string, id: string, row: Row | null) => {
      const rows = byKind.get(kind) ?? new Map<string, StoredRow | null>();
      byKind.set(kind, rows.set(id, row as StoredRow | null));
    };
    for (const entry of logged) {
      if (staying.has(entry)) continue;
      const { table, id, row } = entry;
      if (isOpen(entry)) {
        put(OPEN + table, id, row);
        spilled.add(entry);
        continue;
      }
      put(table, id, row);
      if (spilled.delete(entry)) put(OPEN + table, id, null);
      if (row === null || !staysInMemory(table, row)) tables.get(table)?.delete(id);
    }
    for (const [kind, rows] of byKind) {
      segments.write(kind, rows);
      if (inOrderOfTime.has(kind)) raiseVersion();
    }
    logged = staying;
    log.fold += 1;
    log.slots = 0;
    log.characters = 0;
    append(textOf(staying));
  }

  function shorten(): void {
    if (!hasLog || unwritten.size > 0) return;
    const slots = Number(sql.exec("SELECT max(slot) AS slots FROM log").one().slots);
    if (slots < bounds.slots / 32) return;
    storage.transactionSync(() => {
      sql.exec("DROP TABLE log");
      hasLog = false;
      log.slots = 0;
      log.characters = 0;
      // Segments do not say whose they are, and the log does.
      if (logged.size === 0 && !segments.exist()) return;
      makeLog();
      raiseVersion();
      const text = textOf(logged);
      append(text, pack(text));
    });
  }

  function hasAcknowledged(): boolean {
    for (const { table, row } of unwritten) if (table === "outbox" && row === null) return true;
    return false;
  }

  function isEmpty(): boolean {
    if (unwritten.size > 0) return false;
    for (const entry of [...logged, ...spilled]) if (entry.row !== null) return false;
    for (const { kind, rows } of segments.all("")) {
      const table = (kind.startsWith(OPEN) ? kind.slice(OPEN.length) : kind) as TableName;
      for (const { id } of rows) {
        if (!isChanged(find(table, id))) return false;
      }
    }
    return true;
  }

  function isChanged(entry: Entry | undefined): boolean {
    return entry !== undefined && (logged.has(entry) || spilled.has(entry));
  }

  /** Drops entries that can be read again. */
  function forgetClean(): void {
    remembered = 0;
    for (const entries of tables.values()) {
      for (const [id, entry] of entries) if (!isChanged(entry)) entries.delete(id);
    }
  }

  return {
    partition: named,
    own(name) {
      log.partition ??= name;
      if (log.partition !== name) throw new Error(`These rows are those of ${log.partition}, and not of ${name}.`);
    },
    get,
    write,
    commit,
    segments,
    isChanged: (table, id) => isChanged(find(table, id)),
    changed: (table) => [...(tables.get(table)?.values() ?? [])].filter(isChanged),
    undelivered: () => undelivered,
    hasAcknowledged,
    isEmpty,
    nextFold,
    countFrom(fold) {
      if (!isEmpty()) throw new Error(`${named()} has rows: it is not lost.`);
      log.fold = Math.max(log.fold, fold);
    },
    shorten,
  };
}

/** Adds the properties that a row of an older version lacks. */
export function completed(table: TableName, row: StoredRow): Row {
  return { ...empty.get(table), ...row } as unknown as Row;
}

const empty = new Map(
  tableNames.map((table) => [table, Object.fromEntries(columnsOf(table).map(({ property }) => [property, null]))]),
);

function keptOf(kind: string, row: Row): number | null {
  const table = forgettableTables.find((one) => one === kind);
  return table === undefined ? null : keptFrom(table, row);
}

function isOpen({ table, row }: Entry): boolean {
  if (row === null) return false;
  if (table === "outbox" || !empty.has(table)) return true;
  if (table === "receipt") return isHold(row as ReceiptRow);
  return ((row as { dueAt?: number | null }).dueAt ?? null) !== null;
}

function textOf(entries: Iterable<Entry>): string {
  return JSON.stringify(Array.from(entries, ({ table, id, row }) => ({ table, id, row })));
}

function noLog(): { log: ReturnType<typeof readLog>["log"]; changes: StoredChange[] } {
  return { log: { fold: 0, slots: 0, characters: 0, version: 1, partition: undefined }, changes: [] };
}

const STORED = "SELECT name FROM sqlite_master WHERE name IN ('log', 'segment')";
/** The segments of a kind's open rows have this before their kind. */
const OPEN = "open ";
/**
 * Kinds whose rows are written once, in the order of their ids, and kept for a year: their segments are compressed. The
 * segments of others are smaller, because a change of any row writes its segment again.
 */
const inOrderOfTime: ReadonlySet<string> = new Set<TableName>(["receipt", "use"]);
/**
 * Maximum rows in memory before those that can be read again are dropped. Many objects share the 128 MB of an isolate.
 */
const MOST_REMEMBERED = 1_000;
