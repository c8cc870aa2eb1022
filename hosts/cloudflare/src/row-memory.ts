import type { DurableObjectStorage } from "@cloudflare/workers-types";
import { isUnresolved } from "@inference/ledger/hold-row";
import { staysInMemory } from "@inference/ledger/lasting";
import type { Partition } from "@inference/ledger/partition";
import { columnsOf, sqlName, tableNames, timeOrderedTables } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Change, CounterRow, HoldRow, OutboxRow, Row, TableName } from "@inference/ledger/tables";
import type { OwnSchema } from "./own-schema.ts";
import { changesText, type LogBounds, readLog, writeLog } from "./row-log.ts";

export type ObjectStorage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * The rows of an object: memory over a log over tables. Writes go to memory, and `commit` appends them to the log as one
 * row. A commit that finds the log full writes each changed row into its table once. Rows that were created and removed
 * meanwhile cost nothing, and rows that will soon change again stay in the log.
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
  /** The rows that differ from their table. */
  unfolded(table: TableName): Entry[];
  /** Deliveries that are not acknowledged. */
  outbox(): OutboxRow[];
  /** The number of those deliveries. */
  undelivered(): number;
  /** Whether any were acknowledged since the last `commit`. */
  hasAcknowledged(): boolean;
  /** Whether the object has no row at all. */
  isEmpty(): boolean;
  /** Writes a log of an eighth of its slots or more anew, as one row: that costs three, and what it had is removed. */
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
  /** Entries that differ from their tables. */
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
    const row = read(table, id);
    if (row !== undefined && !staysInMemory(table, row)) return row;
    remember({ table, id, row: row ?? null, isStored: row !== undefined });
    return row;
  }

  function change(table: TableName, id: string, row: Row | null): Entry {
    const isStored = isNew(table, id) ? false : undefined;
    const entry = find(table, id) ?? remember({ table, id, row: null, isStored });
    if (table === "outbox") undelivered += Number(row !== null) - Number(entry.row !== null);
    // What the row does not name stays, as in the log: it may be a later version's.
    entry.row = row !== null && entry.row !== null ? { ...entry.row, ...row } : row;
    unfolded.add(entry);
    return entry;
  }

  function commit(): void {
    if (unwritten.size === 0) return;
    const changes = changesText(unwritten);
    const characters = log.characters + changes.length;
    if (log.slots >= bounds.slots || characters > bounds.characters) storage.transactionSync(fold);
    else if (schema.hasLog()) append(changes);
    else
      storage.transactionSync(() => {
        schema.makeLog();
        append(changes);
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
      if (unfolded.size === 0) return;
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
      if (!schema.has(table)) return true;
      const ids = new Set(removed.map(({ id }) => id));
      const stored = sql.exec(`SELECT id FROM ${sqlName(table)} LIMIT ?`, ids.size + 1).toArray();
      return stored.every(({ id }) => ids.has(String(id)));
    });
  }

  function fold(): void {
    if (!schema.hasLog()) schema.makeLog();
    const moving = [...unfolded].filter(isMoving);
    const text = changesText(moving);
    const kept = new Set(text.length <= bounds.characters / 2 ? moving : []);
    for (const entry of unfolded) if (!kept.has(entry)) store(entry);
    unfolded = kept;
    const changes = kept.size === 0 ? "[]" : text;
    log.fold += 1;
    log.slots = 1;
    log.characters = changes.length;
    writeLog(sql, named(), log, changes);
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
    if ((newest.get(table) ?? row.id) < row.id) newest.set(table, row.id);
    for (const { property, column } of schema.later(table)) {
      const value = (row as unknown as Record<string, SqlValue | undefined>)[property];
      if (value === undefined) continue;
      sql.exec(`UPDATE ${sqlName(table)} SET ${column} = ? WHERE partition = ? AND id = ?`, value, named(), row.id);
    }
  }

  function read(table: TableName, id: string): Row | undefined {
    if (!schema.has(table)) return undefined;
    const [stored] = sql.exec(tableSql[table].select, named(), id).toArray();
    return stored === undefined ? undefined : tableSql[table].toRow(stored);
  }

  /** Whether a row is certainly not in its table: the whole outbox is in memory, and ids in order of time only grow. */
  function isNew(table: TableName, id: string): boolean {
    if (table === "outbox" || !schema.has(table)) return true;
    if (!timeOrderedTables.includes(table)) return false;
    let last = newest.get(table);
    if (last === undefined) {
      last = String(sql.exec(`SELECT coalesce(max(id), '') AS id FROM ${sqlName(table)}`).one().id);
      newest.set(table, last);
    }
    return id > last;
  }

  /** Adds the columns that a row of the log lacks, because an older version wrote it. */
  function completed(table: TableName, row: Row): Row {
    const values = row as unknown as Readonly<Record<string, unknown>>;
    const lacking = columnsOf(table).filter(({ property }) => values[property] === undefined);
    if (lacking.length === 0) return row;
    const before = read(table, row.id) as Readonly<Record<string, unknown>> | undefined;
    return { ...row, ...Object.fromEntries(lacking.map(({ property }) => [property, before?.[property] ?? null])) };
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

/** Whether a row will soon be written again or removed. */
function isMoving({ table, row }: Entry): boolean {
  if (row === null) return false;
  if (table === "hold") return isUnresolved(row as HoldRow);
  if (table === "counter") return (row as CounterRow).openHolds > 0;
  return table === "outbox";
}
