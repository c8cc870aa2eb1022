import { closeSync, openSync, realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isReadableSchema, missingStatements, SCHEMA_VERSION, STORED_SCHEMA } from "@inference/ledger/schema";
import { CREATE_LOG, openRowLog } from "./row-log.ts";

export type Synchronous = "FULL" | "NORMAL";

/**
 * Opens the ledger's file and keeps it to this connection: another one fails here, with one line. `FULL` makes every
 * commit survive a power cut; `NORMAL` survives the death of the process only.
 */
export function openDatabase(file: string, synchronous: Synchronous = "FULL"): DatabaseSync {
  const database = connect(file);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA cache_size = -16384");
    // 16 MB of them: the log's own pages, and those of a busy account, are copied back once for many commits.
    database.exec("PRAGMA wal_autocheckpoint = 4000");
    database.exec("PRAGMA temp_store = MEMORY");
    migrate(database, file);
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    // Nobody else has the file: what a gateway that died left in its log is folded here.
    openRowLog(database).foldAll();
    return database;
  } catch (error) {
    database.close();
    throw refusal(file, error);
  }
}

/**
 * The one name of a gateway's file, whatever links lead to it: SQLite finds its log by that name. The file is there
 * afterwards.
 */
export function fileOf(file: string): string {
  if (file === "" || file === ":memory:" || file.startsWith("file:")) {
    throw new Error(`The database "${file}" cannot be used: it must be the name of a file.`);
  }
  let name: string;
  try {
    // Never one that is there: closing it would let go of the locks that SQLite has on it in this process.
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
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

/** Whether what failed may succeed once there is room. */
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
  // Two that start at once make the tables once. In EXCLUSIVE mode the lock is kept from here on.
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
