import type { DatabaseSync } from "node:sqlite";
import type { Cursor } from "@inference/chain/continuity";

/** The stored value of an event: JSON, with amounts as decimal strings. */
export type Json = string | number | { readonly [name: string]: Json };

/** The open items of a chain's final events, and how far the events were read. */
export type OpenItems = {
  /** Null before the first range, or if other events (`sources`) were followed before. */
  cursor(): Cursor | null;
  get(kind: string, key: string): Json | undefined;
  /** In the order in which they were first put. */
  all(kind: string): ReadonlyMap<string, Json>;
  remove(kind: string, key: string): void;
  /** Commits the cursor and the items that `work` puts, or nothing. */
  advance(cursor: Cursor, work: (put: (kind: string, key: string, value: Json) => void) => void): void;
  /** Deletes everything, so that the chain is read again from the start. */
  clear(): void;
};

export function createOpenItems(database: DatabaseSync, options: { chainId: number; sources: string }): OpenItems {
  const { chainId, sources } = options;
  const cursor = database.prepare(
    "SELECT block, block_hash AS blockHash FROM cursor WHERE chain_id = ? AND sources = ?",
  );
  const setCursor = database.prepare("INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?)");
  const get = database.prepare("SELECT value FROM open_item WHERE chain_id = ? AND kind = ? AND key = ?");
  const all = database.prepare("SELECT key, value FROM open_item WHERE chain_id = ? AND kind = ? ORDER BY rowid");
  const put = database.prepare(
    "INSERT INTO open_item VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const remove = database.prepare("DELETE FROM open_item WHERE chain_id = ? AND kind = ? AND key = ?");
  const parse = (row: unknown): Json => JSON.parse((row as { value: string }).value);

  function commit(work: () => void): void {
    database.exec("BEGIN IMMEDIATE");
    try {
      work();
      database.exec("COMMIT");
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  }

  return {
    cursor: () => (cursor.get(chainId, sources) as Cursor | undefined) ?? null,
    get(kind, key) {
      const row = get.get(chainId, kind, key);
      return row === undefined ? undefined : parse(row);
    },
    all: (kind) => new Map(all.all(chainId, kind).map((row) => [String(row.key), parse(row)])),
    remove: (kind, key) => void remove.run(chainId, kind, key),
    advance({ block, blockHash }, work) {
      commit(() => {
        work((kind, key, value) => void put.run(chainId, kind, key, JSON.stringify(value)));
        setCursor.run(chainId, sources, block, blockHash);
      });
    },
    clear() {
      commit(() => {
        database.prepare("DELETE FROM open_item WHERE chain_id = ?").run(chainId);
        database.prepare("DELETE FROM cursor WHERE chain_id = ?").run(chainId);
      });
    },
  };
}
