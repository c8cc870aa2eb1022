import type { KeyRow, ReadRows, ReceiptRow, Row, TableName, Tables } from "./tables.ts";

/** A row that differs from the stored one; null: it was removed. */
export type ChangedRow = { readonly id: string; readonly row: Row | null };

/** Where a host has the rows of a partition: in storage, and in memory those that the storage does not have yet. */
export type LayeredRows<P> = {
  get(partition: P, table: TableName, id: string): Row | undefined;
  changed(partition: P, table: TableName): readonly ChangedRow[];
  /** The stored rows after an id, or before it and backwards. */
  select(partition: P, table: TableName, order: "list" | "newest", id: string, limit: number): readonly Row[];
  /** The stored keys, with all that are not revoked. */
  liveKeys(partition: P): readonly KeyRow[];
  /** The receipts that are holds, in any order. */
  holds(partition: P): readonly ReceiptRow[];
};

/**
 * The reads of a partition over both layers, the same for every host. A class, because a host keeps one for every
 * account, and a class makes its methods once.
 */
export class PartitionRows<P> implements ReadRows {
  readonly #layers: LayeredRows<P>;
  readonly #partition: P;

  constructor(layers: LayeredRows<P>, partition: P) {
    this.#layers = layers;
    this.#partition = partition;
  }

  get<T extends TableName>(table: T, id: string): Tables[T] | undefined {
    return this.#layers.get(this.#partition, table, id) as Tables[T] | undefined;
  }

  list<T extends TableName>(table: T, { after = "", limit }: { after?: string; limit: number }): Tables[T][] {
    return page(this.#layers, this.#partition, { table, order: "list", from: after, limit }) as Tables[T][];
  }

  newest<T extends TableName>(table: T, { before, limit }: { before: string; limit: number }): Tables[T][] {
    return page(this.#layers, this.#partition, { table, order: "newest", from: before, limit }) as Tables[T][];
  }

  liveKeys(): KeyRow[] {
    const stored = this.#layers.liveKeys(this.#partition);
    const keys = overlay(stored, this.#layers.changed(this.#partition, "key")) as KeyRow[];
    return keys.filter(({ revokedAt }) => revokedAt === null).sort(byId);
  }

  holds(): ReceiptRow[] {
    return this.#layers.holds(this.#partition).toSorted(byId);
  }
}

function page<P>(
  layers: LayeredRows<P>,
  partition: P,
  { table, order, from, limit }: { table: TableName; order: "list" | "newest"; from: string; limit: number },
): Row[] {
  const isUpward = order === "list";
  const changed = layers.changed(partition, table).filter(({ id }) => (isUpward ? id > from : id < from));
  const stored = layers.select(partition, table, order, from, limit + changed.length);
  const rows = overlay(stored, changed).sort(byId);
  return (isUpward ? rows : rows.reverse()).slice(0, limit);
}

/** Stored rows with the changed rows over them. */
function overlay(stored: readonly Row[], changed: readonly ChangedRow[]): Row[] {
  const rows = new Map(stored.map((row) => [row.id, row]));
  for (const { id, row } of changed) {
    if (row === null) rows.delete(id);
    else rows.set(id, row);
  }
  return [...rows.values()];
}

export function byId(one: { id: string }, other: { id: string }): number {
  return one.id < other.id ? -1 : 1;
}
