import type { OrderedStore } from "@inference/gateway/auth/revocations";
import { BUSY_MS, connect, keepPrivate } from "./database.ts";

/**
 * The key-value store on one machine. It has its own file, so that a write waits neither for a commit of the ledger nor
 * for the disk. Its contents can be recreated, with the exception of revocations, which only a restore needs.
 */
export function openKeyValue(file: string, now: () => number): OrderedStore & { close(): void } {
  for (const end of ["", "-wal", "-shm"]) keepPrivate(file + end);
  const database = connect(file, BUSY_MS);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = NORMAL");
  database.exec(`CREATE TABLE IF NOT EXISTS key_value (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER
  ) STRICT, WITHOUT ROWID`);
  database.exec("CREATE INDEX IF NOT EXISTS ending ON key_value (expires_at) WHERE expires_at IS NOT NULL");
  const select = database.prepare("SELECT value, expires_at FROM key_value WHERE key = ?");
  const selectKeys = database.prepare(
    `SELECT key FROM key_value
     WHERE key >= ? AND key <> ? AND key < ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?`,
  );
  const upsert = database.prepare(
    `INSERT INTO key_value (key, value, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
  );
  const remove = database.prepare("DELETE FROM key_value WHERE key = ?");
  const removeOver = database.prepare(
    `DELETE FROM key_value
     WHERE key IN (SELECT key FROM key_value WHERE expires_at <= ? ORDER BY expires_at LIMIT ${TIDIED_BY_A_PUT})`,
  );
  return {
    async get(key) {
      const row = select.get(key);
      if (row === undefined) return null;
      const isOver = typeof row.expires_at === "number" && row.expires_at <= now();
      return isOver ? null : String(row.value);
    },
    async put(key, value, options) {
      upsert.run(key, value, options?.expiresAt ?? null);
      removeOver.run(now());
    },
    async delete(key) {
      remove.run(key);
    },
    async list(prefix, limit, after = "") {
      const from = after > prefix ? after : prefix;
      return selectKeys.all(from, after, `${prefix}${AFTER_ALL}`, now(), limit).map(({ key }) => String(key));
    },
    close: () => database.close(),
  };
}

/** Sorts after every character of a key. */
const AFTER_ALL = "\u{10ffff}";
/** Expired rows that a put removes: more than it adds, and few enough not to delay it. */
const TIDIED_BY_A_PUT = 4;
