import { isUnresolved } from "./hold.ts";
import { tableSql } from "./sql.ts";
import type { HoldRow, KeyRow, ReadRows, Row, TableName } from "./tables.ts";

/** A row that differs from its table; null: it was removed. */
export type ChangedRow = { readonly id: string; readonly row: Row | null };
type Stored = Readonly<Record<string, unknown>>;

/** Where a host has the rows of a partition: in tables, and in memory those that the tables do not have yet. */
export type LayeredRows<P> = {
  get(partition: P, table: TableName, id: string): Row | undefined;
  changed(partition: P, table: TableName): readonly ChangedRow[];
  /** Runs `list` or `newest` of `tableSql`. */
  select(partition: P, table: TableName, order: "list" | "newest", id: string, limit: number): readonly Stored[];
  /** Runs `LIVE_KEYS`. */
  liveKeys(partition: P): readonly Stored[];
  /** Runs `UNRESOLVED_HOLDS`. */
  unresolvedHolds(partition: P): readonly Stored[];
};

/** The reads of a partition over both layers, the same for every host. */
export function readRows<P>(layers: LayeredRows<P>, partition: P): ReadRows {
  return {
    get: (table, id) => layers.get(partition, table, id) as never,
    list: (table, { after = "", limit }) =>
      page(layers, partition, { table, order: "list", from: after, limit }) as never,
    newest: (table, { before, limit }) =>
      page(layers, partition, { table, order: "newest", from: before, limit }) as never,
    liveKeys() {
      const stored = layers.liveKeys(partition).map(tableSql.key.toRow);
      const keys = overlay(stored, layers.changed(partition, "key")) as KeyRow[];
      return keys.filter(({ revokedAt }) => revokedAt === null).sort(byId);
    },
    unresolvedHolds() {
      const stored = layers.unresolvedHolds(partition).map(tableSql.hold.toRow);
      const holds = overlay(stored, layers.changed(partition, "hold")) as HoldRow[];
      return holds.filter(isUnresolved).sort(byId);
    },
  };
}

function page<P>(
  layers: LayeredRows<P>,
  partition: P,
  { table, order, from, limit }: { table: TableName; order: "list" | "newest"; from: string; limit: number },
): Row[] {
  const isUpward = order === "list";
  const changed = layers.changed(partition, table).filter(({ id }) => (isUpward ? id > from : id < from));
  const stored = layers.select(partition, table, order, from, limit + changed.length);
  const rows = overlay(stored.map(tableSql[table].toRow), changed).sort(byId);
  return (isUpward ? rows : rows.reverse()).slice(0, limit);
}

/** Stored rows with the changed rows over them. */
export function overlay<R extends { id: string } = Row>(
  stored: readonly R[],
  changed: readonly ChangedRow[],
  toStored: (row: Row) => R = (row) => row as unknown as R,
): R[] {
  const rows = new Map(stored.map((row) => [row.id, row]));
  for (const { id, row } of changed) {
    if (row === null) rows.delete(id);
    else rows.set(id, toStored(row));
  }
  return [...rows.values()];
}

export function byId(one: { id: string }, other: { id: string }): number {
  return one.id < other.id ? -1 : 1;
}
