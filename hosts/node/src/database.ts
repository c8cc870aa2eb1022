import { closeSync, openSync, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isReadableSchema, missingStatements, SCHEMA_VERSION, STORED_SCHEMA } from "@inference/ledger/schema";
import { CREATE_LOG, openRowLog } from "./row-log.ts";

export type Synchronous = "FULL" | "NORMAL";

/**
 * Opens the ledger's file with an exclusive lock. If another process has it, this throws an error of one line. With
 * `FULL` every commit survives a power cut, with `NORMAL` only the end of the process.
 */
export function openDatabase(file: string, synchronous: Synchronous = "FULL"): DatabaseSync {
  const database = connect(file);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA cache_size = -16384");
    // 16 MB: pages of the log and of busy accounts are then copied back once for many commits.
    database.exec("PRAGMA wal_autocheckpoint = 4000");
    database.exec("PRAGMA temp_store = MEMORY");
    migrate(database, file);
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    // The file is locked. Rows that an earlier process left in the log are folded here.
    openRowLog(database).foldAll();
    return database;
  } catch (error) {
    database.close();
    throw refusal(file, error);
  }
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
  } catch (error) {
    throw unusable(file, error);
  }
  if (statSync(name).nlink > 1) {
    throw new Error(`The database ${file} cannot be used: it has a second name (a hard link), and so a second log.`);
  }
  return name;
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
  return sqliteCode(error) === SQLITE_FULL;
}

const SQLITE_FULL = 13;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;

function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

function migrate(database: DatabaseSync, file: string): void {
  // Of two processes that start at once, one creates the tables. In EXCLUSIVE mode the lock is kept from here on.
  database.exec("BEGIN IMMEDIATE");
  const stored = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (stored !== 0 && !isReadableSchema(stored)) {
    throw new Error(`${file} has schema ${stored}, and this gateway wants ${SCHEMA_VERSION}.`);
  }
  for (const statement of missingStatements(database.prepare(STORED_SCHEMA).all())) database.exec(statement);
  if (stored !== SCHEMA_VERSION) database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  database.exec(CREATE_LOG);
  database.exec("COMMIT");
}
