import type { DatabaseSync } from "node:sqlite";
import type { Partition } from "@inference/ledger/partition";
import { tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import type { Change, HoldRow, OutboxRow, ReadRows, Row, TableName, Tables } from "@inference/ledger/tables";
import { prepareStatements } from "./statements.ts";

/**
 * The rows of all partitions: memory in front of the file. A row that was read or written recently is in memory; a
 * changed one is pending until the next commit. Only rows a request can need again stay: what is written once (receipts,
 * uses, resolved holds) leaves memory with its commit.
 */
export type RowCache = {
  partition(name: Partition): ReadRows;
  write(name: Partition, changes: readonly Change[]): void;
  pendingRows(): number;
  /** Writes what is pending, in one transaction. On an error nothing of it is on disk. */
  commit(): void;
  /** Forgets everything that is not on disk. */
  discard(): void;
  unresolvedHolds(leaseBefore: number, limit: number): { partition: Partition; hold: HoldRow }[];
  outbox(): { partition: Partition; row: OutboxRow }[];
};

/** Null: known to be gone. */
type Cached = { name: Partition; tables: Record<TableName, Map<string, Row | null>>; pending: number; used: boolean };
type Pending = { partition: Cached; table: TableName; id: string; row: Row | null };

/** About 2 kB each in memory. */
const MAX_CACHED_PARTITIONS = 50_000;

export function openRowCache(database: DatabaseSync): RowCache {
  const statements = prepareStatements(database);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const end = database.prepare("COMMIT");
  const lapsed = database.prepare(
    `SELECT * FROM hold_row WHERE state IN ('open', 'orphaned') AND lease_until < ? ORDER BY lease_until LIMIT ?`,
  );
  const undelivered = database.prepare("SELECT * FROM outbox_row ORDER BY partition, id");
  const partitions = new Map<Partition, Cached>();
  let pending = new Map<string, Pending>();

  function cached(name: Partition): Cached {
    const known = partitions.get(name);
    if (known !== undefined) {
      known.used = true;
      return known;
    }
    if (partitions.size >= MAX_CACHED_PARTITIONS) evict(partitions);
    const tables = Object.fromEntries(tableNames.map((table) => [table, new Map()])) as Cached["tables"];
    const fresh: Cached = { name, tables, pending: 0, used: true };
    partitions.set(name, fresh);
    return fresh;
  }

  function get<T extends TableName>(partition: Cached, table: T, id: string): Tables[T] | undefined {
    const known = partition.tables[table].get(id);
    if (known !== undefined) return (known ?? undefined) as Tables[T] | undefined;
    const stored = statements[table].select.get(partition.name, id);
    if (stored === undefined) return undefined;
    const row = tableSql[table].toRow(stored);
    if (staysInMemory(table, row)) partition.tables[table].set(id, row);
    return row as Tables[T];
  }

  function write(name: Partition, changes: readonly Change[]): void {
    const partition = cached(name);
    for (const { table, id, row } of changes) {
      const key = `${table} ${name} ${id}`;
      const known = pending.get(key);
      const isUnwritten = table === "outbox" && known !== undefined && row === null;
      if (isUnwritten) {
        // Delivered in the turn that made it: it never needs to reach the disk.
        pending.delete(key);
        partition.pending -= 1;
        partition.tables[table].delete(id);
        continue;
      }
      partition.tables[table].set(id, row);
      if (known === undefined) {
        pending.set(key, { partition, table, id, row });
        partition.pending += 1;
      } else known.row = row;
    }
  }

  return {
    partition(name) {
      const partition = cached(name);
      return {
        get: (table, id) => get(partition, table, id),
        list: (table, { after = "", limit }) =>
          statements[table].list.all(name, after, limit).map((stored) => tableSql[table].toRow(stored)) as never,
      };
    },
    write,
    pendingRows: () => pending.size,
    commit() {
      begin.run();
      try {
        for (const { partition, table, id, row } of pending.values()) {
          if (row === null) statements[table].remove.run(partition.name, id);
          else statements[table].upsert.run(...tableSql[table].toColumns(partition.name, row));
        }
        end.run();
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
      for (const { partition, table, id, row } of pending.values()) {
        partition.pending -= 1;
        if (row === null || !staysInMemory(table, row)) partition.tables[table].delete(id);
      }
      pending = new Map();
    },
    discard() {
      pending = new Map();
      partitions.clear();
    },
    unresolvedHolds: (leaseBefore, limit) =>
      lapsed.all(leaseBefore, limit).map((stored) => ({
        partition: String(stored.partition),
        hold: tableSql.hold.toRow(stored) as HoldRow,
      })),
    outbox: () =>
      undelivered.all().map((stored) => ({
        partition: String(stored.partition),
        row: tableSql.outbox.toRow(stored) as OutboxRow,
      })),
  };
}

function staysInMemory(table: TableName, row: Row): boolean {
  if (table === "hold") return (row as HoldRow).state === "open" || (row as HoldRow).state === "orphaned";
  return table !== "receipt" && table !== "use" && table !== "credit";
}

/** Makes room: drops a tenth of the partitions, those not used since the last time first. */
function evict(partitions: Map<Partition, Cached>): void {
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
