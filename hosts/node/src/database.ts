import { chmodSync, closeSync, openSync, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isReadableSchema, missingStatements, SCHEMA_VERSION, STORED_SCHEMA } from "@inference/ledger/schema";
import { CREATE_FOLDED, foldedUntil, isLogInUse, openFold } from "./fold.ts";
import { readLog, type Synchronous } from "./log-files.ts";
import { EARLIER_LOG } from "./log-rows.ts";

/**
 * Opens the ledger's file, and folds what an earlier process left in its log. If another process has the file, this
 * throws an error of one line. With `FULL` every commit survives a power cut, with `NORMAL` only the end of the process.
 */
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
    migrate(database, file);
    const folded = foldedUntil(database);
    const left = readLog(file, { ...folded, isInUse: isLogInUse(database) }, synchronous);
    if (left.length > 0) openFold(database)(left, folded.last + 1);
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
  const database = connect(file);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  database.exec("PRAGMA cache_size = -16384");
  // 16 MB: busy pages are then copied back once for many folds.
  database.exec("PRAGMA wal_autocheckpoint = 4000");
  database.exec("PRAGMA temp_store = MEMORY");
  return database;
}

/**
 * The real path of a gateway's file, because SQLite finds its log by the file's name. Creates the file if it does not
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
    for (const end of ["", "-wal", "-shm", "-lock", "-log1", "-log2"]) keepPrivate(name + end);
  } catch (error) {
    throw unusable(file, error);
  }
  if (statSync(name).nlink > 1) {
    throw new Error(`The database ${file} cannot be used: it has a second name (a hard link), and so a second log.`);
  }
  return name;
}

/** Takes the rights of other users from a file of an older version. SQLite makes `-wal` and `-shm` like their database. */
export function keepPrivate(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
}

function refusal(file: string, error: unknown): unknown {
  if (isBusy(error)) return new Error(`Another gateway is using ${file}: stop it first, or choose another file.`);
  return sqliteCode(error) === undefined ? error : unusable(file, error);
}

export function connect(file: string): DatabaseSync {
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
function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

/** Whether an operation failed because the disk is full. It may succeed later. */
export function isDiskFull(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return sqliteCode(error) === SQLITE_FULL || code === "ENOSPC" || code === "EDQUOT";
}

/** An error that ends a start, with what to do. */
export function startError(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  if (!isDiskFull(error) && !isDiskFull(cause)) return message;
  return `The disk is full: ${message}. Free some MB on the disk of DATABASE_FILE, then start again. No confirmed request is lost.`;
}

/** The durability that a connection was opened with. */
export function synchronousOf(database: DatabaseSync): Synchronous {
  return database.prepare("PRAGMA synchronous").get()?.synchronous === SYNCHRONOUS_FULL ? "FULL" : "NORMAL";
}

/** SQLite's number for `FULL`. */
const SYNCHRONOUS_FULL = 2;
const SQLITE_FULL = 13;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;

function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

/** Of a file whose log is in files beside it. A gateway that does not know them must not open it. */
const LOG_FILES = 1_000;

/** In one transaction. */
function migrate(database: DatabaseSync, file: string): void {
  database.exec("BEGIN IMMEDIATE");
  const stored = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (stored !== 0 && !isReadableSchema(stored % LOG_FILES)) {
    throw new Error(
      `${file} has schema ${stored}, and this gateway wants ${LOG_FILES + SCHEMA_VERSION}. ` +
        "Start the release that wrote it, or restore a backup from before.",
    );
  }
  for (const statement of missingStatements(database.prepare(STORED_SCHEMA).all())) database.exec(statement);
  database.exec(CREATE_FOLDED);
  // An older gateway has its log in a table, which is empty when it has ended in order.
  database.exec("CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, rows BLOB NOT NULL) STRICT");
  if (database.prepare("SELECT number FROM log").get() !== undefined) throw new Error(EARLIER_LOG);
  database.exec("DROP TABLE log");
  database.exec(`PRAGMA user_version = ${LOG_FILES + SCHEMA_VERSION}`);
  database.exec("COMMIT");
}
