import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CREATE_FOLDED, foldedUntil, setLogInUse } from "./fold.ts";
import { syncToDisk } from "./log-files.ts";

export type BackedUp = { file: string; bytes: number; record: number };

/**
 * `npm run gateway -- backup FILE`: copies the ledger into one file, also while the gateway runs. The copy is the ledger
 * as it was at one moment, at most a second before: its log's last records may not be in it. The key-value store is not
 * copied, because it can be recreated.
 *
 * @returns The last record of the log that is in the copy.
 */
export function backUpLedger(database: string, to: string): BackedUp {
  if (!existsSync(database)) throw new Error(`There is no database ${database}: set DATABASE_FILE.`);
  if (existsSync(to)) throw new Error(`${to} exists already. Name a new file.`);
  const source = new DatabaseSync(database, { readOnly: true });
  try {
    source.prepare("VACUUM INTO ?").run(to);
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(to);
  try {
    const { quick_check: found } = copy.prepare("PRAGMA quick_check(1)").get() ?? {};
    if (found !== "ok") throw new Error(`The copy ${to} is damaged: ${found}. Delete it, and check the disk.`);
    // A copy is a ledger without the log's files.
    copy.exec(CREATE_FOLDED);
    setLogInUse(copy, false);
    for (const path of [to, dirname(to)]) syncToDisk(path);
    return { file: to, bytes: statSync(to).size, record: foldedUntil(copy).last };
  } finally {
    copy.close();
  }
}
