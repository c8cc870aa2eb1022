import { DatabaseSync } from "node:sqlite";
import { createStatements, SCHEMA_VERSION } from "@inference/ledger/schema";

export type Synchronous = "FULL" | "NORMAL";

/**
 * Opens the gateway's one file and keeps it to itself: a second gateway on the same file fails here, with one line.
 * `FULL` makes every commit survive a power cut; `NORMAL` survives the death of the process only.
 *
 * @param locking `shared` for a file whose lock is held elsewhere: several connections of one gateway use it.
 */
export function openDatabase(
  file: string,
  synchronous: Synchronous = "FULL",
  locking: "exclusive" | "shared" = "exclusive",
): DatabaseSync {
  const database = connect(file);
  try {
    database.exec(locking === "exclusive" ? "PRAGMA locking_mode = EXCLUSIVE" : "PRAGMA busy_timeout = 10000");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    database.exec("PRAGMA cache_size = -131072");
    database.exec("PRAGMA temp_store = MEMORY");
    migrate(database, file);
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) {
      const name = file.replace(/-lock$/, "");
      throw new Error(`Another gateway is using ${name}: stop it first, or choose another file.`);
    }
    throw sqliteCode(error) === undefined ? error : unusable(file, error);
  }
}

function connect(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file);
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): Error {
  return new Error(`The database ${file} cannot be used: ${(error as Error).message}.`, { cause: error });
}

/** SQLite's primary result code of an error, or undefined if it is not SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

export const SQLITE_FULL = 13;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;

function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

function migrate(database: DatabaseSync, file: string): void {
  // The write lock, taken now and kept: EXCLUSIVE mode never lets it go.
  database.exec("BEGIN IMMEDIATE");
  const stored = database.prepare("PRAGMA user_version").get()?.user_version;
  if (stored === 0) {
    for (const statement of createStatements()) database.exec(statement);
    database.exec(`CREATE TABLE key_value (
      key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER
    ) STRICT, WITHOUT ROWID`);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  } else if (stored !== SCHEMA_VERSION) {
    throw new Error(`${file} has schema ${stored}, and this gateway wants ${SCHEMA_VERSION}.`);
  }
  database.exec("COMMIT");
}
