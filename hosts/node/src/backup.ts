import { closeSync, existsSync, fsyncSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

export type BackedUp = { file: string; bytes: number };

/**
 * `npm run gateway -- backup FILE`: copies the ledger into one file, also while the gateway runs. The copy has every
 * request that was answered before the command. The key-value store is not copied: it has the revocations that are
 * newer than the copy.
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
  } finally {
    copy.close();
  }
  for (const path of [to, dirname(to)]) syncToDisk(path);
  return { file: to, bytes: statSync(to).size };
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
