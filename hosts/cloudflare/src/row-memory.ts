import type { DurableObjectStorage } from "@cloudflare/workers-types";
import { isUnresolved } from "@inference/ledger/hold";
import { staysInMemory } from "@inference/ledger/lasting";
import type { Partition } from "@inference/ledger/partition";
import { columnsOf, sqlName, tableNames, timeOrderedTables } from "@inference/ledger/schema";
import { type SqlValue, tableSql } from "@inference/ledger/sql";
import type { Change, CounterRow, HoldRow, OutboxRow, Row, TableName } from "@inference/ledger/tables";
import type { LaterColumns } from "./own-schema.ts";
import { changesText, type LogBounds, readLog, writeLog } from "./row-log.ts";

export type ObjectStorage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * The rows of an object: memory over a log over tables. What was written is in memory, and with `commit` one row of the
 * log. When the log is full, each row that changed is written into its table once, in the commit that found no room:
 * rows that came and went meanwhile cost nothing, and those that will soon change again stay in the log.
 *
 * It does not outlive an error of `commit`: whoever catches one opens another.
 */
export type RowMemory = {
  /** Whose rows they are: the first partition that is named is the one. */
  own(partition: Partition): void;
  /** @throws If none was named yet. */
  partition(): Partition;
  get(table: TableName, id: string): Row | undefined;
  /** In memory alone, until the next `commit`. */
  write(changes: readonly Change[]): void;
  commit(): void;
  /** The rows of a table that it has not as they are. */
  unfolded(table: TableName): Entry[];
  /** What nobody has acknowledged. */
  outbox(): OutboxRow[];
  /** How many that are. */
  undelivered(): number;
  /** Whether some were acknowledged since the last `commit`. */
  hasAcknowledged(): boolean;
};

/** One row in memory; null: known to be gone. */
export type Entry = {
  readonly table: TableName;
  readonly id: string;
  row: Row | null;
  /** Whether its table has it; undefined: not known. */
  isStored: boolean | undefined;
};

export function openRowMemory(storage: ObjectStorage, later: LaterColumns, bounds: LogBounds): RowMemory {
  const { sql } = storage;
  const tables = new Map<TableName, Map<string, Entry>>(tableNames.map((table) => [table, new Map()]));
  let remembered = 0;
  let undelivered = 0;
  /** Those that are not in their tables as they are. */
  let unfolded = new Set<Entry>();
  /** Those of them that are not in the log either. */
  const unwritten = new Set<Entry>();
  /** Of the tables in the order of time, the last id that each has. */
  const newest = new Map<TableName, string>();
  const log = readLog((statement) => sql.exec(statement).toArray());
  let partition = log.partition;

  for (const stored of sql.exec("SELECT * FROM outbox_row").toArray()) {
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
    // Of what a later version has written, this one knows nothing, and takes nothing away.
    entry.row = row !== null && later.has(table) ? { ...entry.row, ...row } : row;
    unfolded.add(entry);
    return entry;
  }

  function commit(): void {
    if (unwritten.size === 0) return;
    const changes = changesText(unwritten);
    const letters = log.letters + changes.length;
    if (log.slots >= bounds.slots || letters > bounds.letters) storage.transactionSync(fold);
    else {
      log.slots += 1;
      log.letters = letters;
      writeLog(sql, named(), log, changes);
    }
    unwritten.clear();
  }

  function hasAcknowledged(): boolean {
    for (const { table, row } of unwritten) if (table === "outbox" && row === null) return true;
    return false;
  }

  function fold(): void {
    const moving = [...unfolded].filter(isMoving);
    const text = changesText(moving);
    const kept = new Set(text.length <= bounds.letters / 2 ? moving : []);
    for (const entry of unfolded) if (!kept.has(entry)) store(entry);
    unfolded = kept;
    const changes = kept.size === 0 ? "[]" : text;
    log.fold += 1;
    log.slots = 1;
    log.letters = changes.length;
    writeLog(sql, named(), log, changes);
  }

  function store(entry: Entry): void {
    const { table, id, row } = entry;
    if (row !== null) upsert(table, row);
    else if (entry.isStored !== false) sql.exec(tableSql[table].remove, named(), id);
    entry.isStored = row !== null;
    if (row === null ? table === "outbox" : !staysInMemory(table, row)) tables.get(table)?.delete(id);
  }

  function upsert(table: TableName, row: Row): void {
    sql.exec(tableSql[table].upsert, ...tableSql[table].toColumns(named(), row));
    if ((newest.get(table) ?? row.id) < row.id) newest.set(table, row.id);
    for (const { property, column } of later.get(table) ?? []) {
      const value = (row as unknown as Record<string, SqlValue | undefined>)[property];
      if (value === undefined) continue;
      sql.exec(`UPDATE ${sqlName(table)} SET ${column} = ? WHERE partition = ? AND id = ?`, value, named(), row.id);
    }
  }

  function read(table: TableName, id: string): Row | undefined {
    const [stored] = sql.exec(tableSql[table].select, named(), id).toArray();
    return stored === undefined ? undefined : tableSql[table].toRow(stored);
  }

  /** Surely not in its table: of the outbox all is in memory, and a later id than all others is no other's. */
  function isNew(table: TableName, id: string): boolean {
    if (table === "outbox") return true;
    if (!timeOrderedTables.includes(table)) return false;
    let last = newest.get(table);
    if (last === undefined) {
      last = String(sql.exec(`SELECT coalesce(max(id), '') AS id FROM ${sqlName(table)}`).one().id);
      newest.set(table, last);
    }
    return id > last;
  }

  /** A row of the log with what it does not name: who wrote it did not know of it. */
  function completed(table: TableName, row: Row): Row {
    const values = row as unknown as Readonly<Record<string, unknown>>;
    const lacking = columnsOf(table).filter(({ property }) => values[property] === undefined);
    if (lacking.length === 0) return row;
    const before = read(table, row.id) as Readonly<Record<string, unknown>> | undefined;
    return { ...row, ...Object.fromEntries(lacking.map(({ property }) => [property, before?.[property] ?? null])) };
  }

  /** What can be read again; all of the outbox stays. */
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
      // What is read, and may fail, comes first: a command is in memory whole, or not at all.
      for (const { table, id } of changes) isNew(table, id);
      for (const { table, id, row } of changes) unwritten.add(change(table, id, row));
    },
    commit,
    unfolded: (table) => [...unfolded].filter((entry) => entry.table === table),
    outbox: () => [...(tables.get("outbox")?.values() ?? [])].flatMap(({ row }) => (row as OutboxRow | null) ?? []),
    undelivered: () => undelivered,
    hasAcknowledged,
  };
}

/** After so many rows it begins anew, but for what the log has: an isolate has many objects, and 128 MB. */
const MOST_REMEMBERED = 1_000;

/** It is sure to be written again, or to go. */
function isMoving({ table, row }: Entry): boolean {
  if (row === null) return false;
  if (table === "hold") return isUnresolved(row as HoldRow);
  if (table === "counter") return (row as CounterRow).openHolds > 0;
  return table === "outbox";
}
