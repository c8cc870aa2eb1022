import type { DatabaseSync } from "node:sqlite";
import type { KeyValueStore } from "@inference/gateway/environment";

/** The key-value store on one machine: a table beside the ledger's. What it holds can be lost and made again. */
export function openKeyValue(database: DatabaseSync, now: () => number): KeyValueStore {
  const select = database.prepare("SELECT value, expires_at FROM key_value WHERE key = ?");
  const upsert = database.prepare(
    `INSERT INTO key_value (key, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  );
  const remove = database.prepare("DELETE FROM key_value WHERE key = ?");
  const removeOver = database.prepare("DELETE FROM key_value WHERE expires_at <= ?");
  let tidiedAt = now();
  return {
    async get(key) {
      const row = select.get(key);
      if (row === undefined) return null;
      const isOver = typeof row.expires_at === "number" && row.expires_at <= now();
      return isOver ? null : String(row.value);
    },
    async put(key, value, options) {
      upsert.run(key, value, options?.expiresAt ?? null);
      if (now() - tidiedAt < TIDY_MS) return;
      tidiedAt = now();
      removeOver.run(tidiedAt);
    },
    async delete(key) {
      remove.run(key);
    },
  };
}

/** How long what is over may stay in the file. */
const TIDY_MS = 3_600_000;
