import type { DurableObjectStorage } from "@cloudflare/workers-types";
import { staysInMemory } from "@inference/ledger/lasting";
import type { Partition } from "@inference/ledger/partition";
import { columnsOf, sqlName, tableNames } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import {
  type Change,
  isHold,
  type OutboxRow,
  type ReceiptRow,
  type Row,
  type TableName,
} from "@inference/ledger/tables";
import type { OwnSchema } from "./own-schema.ts";
import { changesText, type LogBounds, readLog, writeLog } from "./row-log.ts";
import { openSegments, packedTables, type Segments, type StoredRow } from "./row-segments.ts";

export type ObjectStorage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * The rows of an object: memory over a log over tables. Writes go to memory, and `commit` appends them to the log as
 * one row. A commit that finds the log full writes each changed row into its table once, and rows of requests that
 * are over into segments. Rows that were created and removed meanwhile cost nothing, and rows that will soon change
 * again stay in the log.
 *
 * A row of a packed table is in its table or in a segment. It is in its table if it was unresolved
 * when it left the log, or if a version without segments wrote it, and then it stays there.
 *
 * After an error of `commit` it cannot be used, and the caller opens another one.
 */
export type RowMemory = {
  /** Sets the partition. Throws if it was set to another one. */
  own(partition: Partition): void;
  /** @throws If it was not set. */
  partition(): Partition;
  get(table: TableName, id: string): Row | undefined;
  /** Writes to memory. Nothing is stored until the next `commit`. */
  write(changes: readonly Change[]): void;
  commit(): void;
  /** The rows that differ from their table and segment. */
  unfolded(table: TableName): Entry[];
  /** The rows in segments. */
  readonly segments: Pick<Segments, "list">;
  /** Deliveries that are not acknowledged. */
  outbox(): OutboxRow[];
  /** The number of those deliveries. */
  undelivered(): number;
  /** Whether any were acknowledged since the last `commit`. */
  hasAcknowledged(): boolean;
  /** Whether the object has no row at all. */
  isEmpty(): boolean;
  /** Rewrites a log of an eighth of its slots or more as one row, which costs three row writes. */
  shorten(): void;
};

/** One row in memory; null: known not to exist. */
export type Entry = {
  readonly table: TableName;
  readonly id: string;
  row: Row | null;
  /** Whether its table has the row; undefined: unknown. */
  isStored: boolean | undefined;
};

export function openRowMemory(storage: ObjectStorage, schema: OwnSchema, bounds: LogBounds): RowMemory {
  const { sql } = storage;
  const tables = new Map<TableName, Map<string, Entry>>(tableNames.map((table) => [table, new Map()]));
  let remembered = 0;
  let undelivered = 0;
  const segments = openSegments(sql, schema, bounds.characters / 2);
  /** Entries that differ from their tables and segments. */
  let unfolded = new Set<Entry>();
  /** Those that are not in the log either. */
  const unwritten = new Set<Entry>();
  /** The last id of each table in order of time. */
  const newest = new Map<TableName, string>();
  const log = readLog((statement) => (schema.hasLog() ? sql.exec(statement).toArray() : []));
  let partition = log.partition;

  for (const stored of schema.has("outbox") ? sql.exec("SELECT * FROM outbox_row").toArray() : []) {
    partition ??= String(stored.partition);
    const row = tableSql.outbox.toRow(stored);
    remember({ table: "outbox", id: row.id, row, isStored: true });
    undelivered += 1;
  }
  for (const { table, id, row } of log.changes) {
    change(table, id, row === null ? null : completed(table, row));
  }

  function named(): Partition {
    if (partition === undefined) throw new Error("These rows are nobody's yet.");
    return partition;
  }

  function find(table: TableName, id: string): Entry | undefined {
    return tables.get(table)?.get(id);
  }

  function remember(entry: Entry): Entry {
    remembered += 1;
    if (remembered > MOST_REMEMBERED) forgetClean();
    tables.get(entry.table)?.set(entry.id, entry);
    return entry;
  }

  function get(table: TableName, id: string): Row | undefined {
    const known = find(table, id);
    if (known !== undefined) return known.row ?? undefined;
    if (isNew(table, id)) return undefined;
    const inTable = readTable(table, id);
    const stored = inTable ?? readSegment(table, id);
    const row = stored === undefined ? undefined : tableSql[table].toRow(stored);
    if (row !== undefined && !staysInMemory(table, row)) return row;
    remember({ table, id, row: row ?? null, isStored: inTable !== undefined });
    return row;
  }

  function change(table: TableName, id: string, row: Row | null): Entry {
    const isStored = isNew(table, id) ? false : undefined;
    const entry = find(table, id) ?? remember({ table, id, row: null, isStored });
    if (table === "outbox") undelivered += Number(row !== null) - Number(entry.row !== null);
    // A property that the row does not have stays, as in the log: a later version may have written it.
    entry.row = row !== null && entry.row !== null ? { ...entry.row, ...row } : row;
    unfolded.add(entry);
    return entry;
  }

  function commit(): void {
    if (unwritten.size === 0) return;
    const changes = changesText(unwritten);
    const characters = log.characters + changes.length;
    const isFull = log.slots >= bounds.slots || characters > bounds.characters;
    if (!isFull && schema.hasLog()) append(changes);
    else
      storage.transactionSync(() => {
        if (!schema.hasLog()) schema.makeLog();
        if (isFull) fold();
        else append(changes);
      });
    unwritten.clear();
  }

  function hasAcknowledged(): boolean {
    for (const { table, row } of unwritten) if (table === "outbox" && row === null) return true;
    return false;
  }

  function append(changes: string): void {
    log.slots += 1;
    log.characters += changes.length;
    writeLog(sql, named(), log, changes);
  }

  function shorten(): void {
    if (!schema.hasLog()) return;
    const slots = Number(sql.exec("SELECT max(slot) AS slots FROM log").one().slots);
    if (slots < bounds.slots / 8 || unwritten.size > 0) return;
    storage.transactionSync(() => {
      schema.dropLog();
      log.slots = 0;
      log.characters = 0;
      // Segments do not say whose they are, and the log does.
      if (unfolded.size === 0 && !schema.hasSegments()) return;
      schema.makeLog();
      append(changesText(unfolded));
    });
  }

  function isEmpty(): boolean {
    if (unwritten.size > 0) return false;
    const gone = Map.groupBy(unfolded, ({ table }) => table);
    return tableNames.every((table) => {
      const removed = gone.get(table) ?? [];
      if (removed.some(({ row }) => row !== null)) return false;
      const ids = new Set(removed.map(({ id }) => id));
      const few = `SELECT id FROM ${sqlName(table)} LIMIT ?`;
      const inTable = schema.has(table) ? sql.exec(few, ids.size + 1).toArray() : [];
      const inSegments = isPackable(table) ? segments.list(table, "list", "", ids.size + 1) : [];
      return [...inTable, ...inSegments].every(({ id }) => ids.has(String(id)));
    });
  }

  function fold(): void {
    const moving = [...unfolded].filter(isMoving);
    const text = changesText(moving);
    const kept = new Set(text.length <= bounds.characters / 2 ? moving : []);
    const packed = new Map<TableName, Map<string, Row | null>>();
    for (const entry of unfolded) {
      if (kept.has(entry)) continue;
      if (!isPackable(entry.table)) store(entry);
      else pack(entry, packed);
    }
    for (const [table, rows] of packed) segments.write(table, rows);
    unfolded = kept;
    const changes = kept.size === 0 ? "[]" : text;
    log.fold += 1;
    log.slots = 1;
    log.characters = changes.length;
    writeLog(sql, named(), log, changes);
  }

  /** Stores a row where it is, or else in its table if it is unresolved, and in a segment if it is not. */
  function pack(entry: Entry, packed: Map<TableName, Map<string, Row | null>>): void {
    const { table, id, row } = entry;
    entry.isStored ??= readTable(table, id) !== undefined;
    const isForTable = entry.isStored || isMoving(entry);
    if (!entry.isStored) {
      const rows = packed.get(table) ?? new Map<string, Row | null>();
      packed.set(table, rows.set(id, isForTable ? null : row));
    }
    if (isForTable) store(entry);
    else if (row !== null) {
      tables.get(table)?.delete(id);
      noteNewest(table, id);
    }
  }

  function store(entry: Entry): void {
    const { table, id, row } = entry;
    if (row !== null) upsert(table, row);
    else if (entry.isStored !== false && schema.has(table)) sql.exec(tableSql[table].remove, named(), id);
    entry.isStored = row !== null;
    if (row === null ? table === "outbox" : !staysInMemory(table, row)) tables.get(table)?.delete(id);
  }

  function upsert(table: TableName, row: Row): void {
    schema.makeFor(table, row);
    sql.exec(tableSql[table].upsert, ...tableSql[table].toColumns(named(), row));
    noteNewest(table, row.id);
    for (const { property, column } of schema.later(table)) {
      const value = (row as unknown as Record<string, SqlValue | undefined>)[property];
      if (value === undefined) continue;
      sql.exec(`UPDATE ${sqlName(table)} SET ${column} = ? WHERE partition = ? AND id = ?`, value, named(), row.id);
    }
  }

  function noteNewest(table: TableName, id: string): void {
    if ((newest.get(table) ?? id) < id) newest.set(table, id);
  }

  function readTable(table: TableName, id: string): StoredRow | undefined {
    if (!schema.has(table)) return undefined;
    return sql.exec(tableSql[table].select, named(), id).toArray()[0];
  }

  function readSegment(table: TableName, id: string): StoredRow | undefined {
    return isPackable(table) ? segments.get(table, id) : undefined;
  }

  /** Whether a row is certainly not in its table: the whole outbox is in memory, and ids in order of time only grow. */
  function isNew(table: TableName, id: string): boolean {
    if (table === "outbox") return true;
    if (!isPackable(table)) return !schema.has(table);
    let last = newest.get(table);
    if (last === undefined) {
      const inTable = schema.has(table) ? sql.exec(`SELECT max(id) AS id FROM ${sqlName(table)}`).one().id : null;
      const [inSegment] = segments.list(table, "newest", AFTER_ALL, 1);
      last = [String(inTable ?? ""), String(inSegment?.id ?? "")].sort()[1] ?? "";
      newest.set(table, last);
    }
    return id > last;
  }

  /** Adds the columns that a row of the log lacks, because an older version wrote it. */
  function completed(table: TableName, row: Row): Row {
    const values = row as unknown as Readonly<Record<string, unknown>>;
    const lacking = columnsOf(table).filter(({ property }) => values[property] === undefined);
    if (lacking.length === 0) return row;
    const before = readTable(table, row.id) ?? readSegment(table, row.id);
    const found = lacking.map(({ property, column }) => [property, before?.[column] ?? null]);
    return { ...row, ...Object.fromEntries(found) };
  }

  /** Drops entries that can be read again, except the outbox. */
  function forgetClean(): void {
    remembered = 0;
    for (const [table, entries] of tables) {
      if (table === "outbox") continue;
      for (const [id, entry] of entries) if (!unfolded.has(entry)) entries.delete(id);
    }
  }

  return {
    partition: named,
    own(name) {
      partition ??= name;
      if (partition !== name) throw new Error(`These rows are those of ${partition}, and not of ${name}.`);
    },
    get,
    write(changes) {
      // Reads first, because a read may fail: a command must be in memory as a whole or not at all.
      for (const { table, id } of changes) isNew(table, id);
      for (const { table, id, row } of changes) unwritten.add(change(table, id, row));
    },
    commit,
    segments,
    unfolded: (table) => [...unfolded].filter((entry) => entry.table === table),
    outbox: () => [...(tables.get("outbox")?.values() ?? [])].flatMap(({ row }) => (row as OutboxRow | null) ?? []),
    undelivered: () => undelivered,
    hasAcknowledged,
    isEmpty,
    shorten,
  };
}

/**
 * Maximum rows in memory before those that can be read again are dropped. Many objects share the 128 MB of an isolate.
 */
const MOST_REMEMBERED = 1_000;

/** After all ids of requests. */
const AFTER_ALL = "~";

function isPackable(table: TableName): boolean {
  return packedTables.includes(table);
}

/** Whether a row will soon be written again or removed. */
function isMoving({ table, row }: Entry): boolean {
  if (row === null) return false;
  return table === "outbox" || (table === "receipt" && isHold(row as ReceiptRow));
}
