import { chmodSync, closeSync, openSync, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { missingStatements, SCHEMA_VERSION, STORED_SCHEMA } from "@inference/ledger/schema";

/** `FULL`: a commit survives a power failure. `NORMAL`: it survives the end of the process. */
export type Synchronous = "FULL" | "NORMAL";

/** Opens the ledger's file. Throws an error of one line if another process has it. */
export function openDatabase(file: string, synchronous: Synchronous = "FULL"): DatabaseSync {
  const lock = connect(`${file}-lock`);
  try {
    // Held until the connection is closed, or the process ends.
    lock.exec("BEGIN EXCLUSIVE");
    return openTables(file, synchronous, lock);
  } catch (error) {
    lock.close();
    throw refusal(file, error);
  }
}

function openTables(file: string, synchronous: Synchronous, lock: DatabaseSync): DatabaseSync {
  const database = connectTables(file, synchronous);
  const close = database.close.bind(database);
  try {
    createTables(database, file);
  } catch (error) {
    close();
    throw error;
  }
  database.close = () => {
    close();
    lock.close();
  };
  return database;
}

/** A connection to the tables. Each thread has its own. */
export function connectTables(file: string, synchronous: Synchronous): DatabaseSync {
  const database = connect(file, BUSY_MS);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  database.exec("PRAGMA cache_size = -16384");
  database.exec("PRAGMA temp_store = MEMORY");
  return database;
}

/**
 * The real path of a gateway's file, because SQLite finds the WAL by the file's name. Creates the file if it does not
 * exist.
 */
export function fileOf(file: string): string {
  if (file === "" || file === ":memory:" || file.startsWith("file:")) {
    throw new Error(`The database "${file}" cannot be used: it must be the name of a file.`);
  }
  let name: string;
  try {
    // An existing file is not opened: closing it would release SQLite's locks of this process.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) closeSync(openSync(file, "a"));
    name = realpathSync(file);
    for (const end of ["", "-wal", "-shm", "-lock"]) keepPrivate(name + end);
  } catch (error) {
    throw unusable(file, error);
  }
  if (statSync(name).nlink > 1) {
    throw new Error(`The database ${file} cannot be used: it has a second name (a hard link), and so a second WAL.`);
  }
  return name;
}

/** Takes the rights of other users from a file. SQLite makes `-wal` and `-shm` like their database. */
export function keepPrivate(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
}

function refusal(file: string, error: unknown): unknown {
  if (isBusy(error)) return new Error(`Another gateway is using ${file}: stop it first, or choose another file.`);
  return sqliteCode(error) === undefined ? error : unusable(file, error);
}

/** @param timeout How long a statement waits for a lock of another connection, in ms. */
export function connect(file: string, timeout = 0): DatabaseSync {
  try {
    return new DatabaseSync(file, { timeout });
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): Error {
  return new Error(`The database ${file} cannot be used: ${(error as Error).message}.`, { cause: error });
}

/** SQLite's primary result code of an error, or undefined if it is not SQLite's. */
function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

/** Whether an operation failed because the disk is full. It may succeed later. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  if (code === "ENOSPC" || code === "EDQUOT") return true;
  return sqliteCode(error) === SQLITE_FULL || errcode === SQLITE_IOERR_SHMSIZE;
}

/** An error that ends a start, with what to do. */
export function startError(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  if (!isDiskFull(error) && !isDiskFull(cause)) return message;
  return `The disk is full: ${message}. Free some MB on the disk of DATABASE_FILE, then start again. No confirmed request is lost.`;
}

export const BUSY_MS = 10_000;

/** The durability that a connection was opened with. */
export function synchronousOf(database: DatabaseSync): Synchronous {
  return database.prepare("PRAGMA synchronous").get()?.synchronous === SYNCHRONOUS_FULL ? "FULL" : "NORMAL";
}

/** SQLite's number for `FULL`. */
const SYNCHRONOUS_FULL = 2;
const SQLITE_FULL = 13;
/** The WAL's index could not grow. */
const SQLITE_IOERR_SHMSIZE = 10 + 19 * 256;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;

function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** Adds missing tables, nullable columns and indexes in one transaction. */
function createTables(database: DatabaseSync, file: string): void {
  database.exec("BEGIN IMMEDIATE");
  const stored = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (stored !== 0 && stored !== SCHEMA_VERSION) {
    throw new Error(
      `${file} has schema ${stored}, and this gateway wants ${SCHEMA_VERSION}. Start the release that wrote it.`,
    );
  }
  for (const statement of missingStatements(database.prepare(STORED_SCHEMA).all())) database.exec(statement);
  if (stored === 0) database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  database.exec("COMMIT");
}
