import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Partition } from "@inference/ledger/partition";
import { missingStatements, tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import { type OwnRows, openOwnRows } from "../own-rows.ts";
import { openNodeStorage } from "./node-storage.ts";

/**
 * The rows of all partitions in one database, in memory, as one machine's file has them. Read from copies: to open an
 * object's files is to tidy up after the process that died over them, which is for the next one to do.
 *
 * @param objects The folder of a local workerd's objects. No object may be running.
 */
export function mergeBooks(objects: string): DatabaseSync {
  const merged = new DatabaseSync(":memory:");
  for (const statement of missingStatements([])) merged.exec(statement);
  const copies = mkdtempSync(join(tmpdir(), "books-"));
  try {
    const folder = join(objects, "PartitionObject");
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.sqlite/.test(name)) : [];
    for (const name of names) copyFileSync(join(folder, name), join(copies, name));
    for (const name of names.filter((file) => file.endsWith(".sqlite"))) addBooks(merged, join(copies, name));
  } finally {
    rmSync(copies, { recursive: true });
  }
  return merged;
}

function addBooks(merged: DatabaseSync, file: string): void {
  const database = new DatabaseSync(file);
  const integrity = database.prepare("PRAGMA integrity_check").get()?.integrity_check;
  if (integrity !== "ok") throw new Error(`an object's file is damaged: ${String(integrity)}`);
  const rows = openOwnRows(openNodeStorage(database));
  // An object that was only asked has no rows, and belongs to no partition.
  if (!rows.isEmpty()) addRows(merged, rows, rows.partition());
  database.close();
}

function addRows(merged: DatabaseSync, rows: OwnRows, partition: Partition): void {
  for (const table of tableNames) {
    const { upsert, toColumns } = tableSql[table];
    const insert = merged.prepare(upsert);
    for (const row of rows.of(partition).list(table, { limit: Number.POSITIVE_INFINITY })) {
      insert.run(...toColumns(partition, row));
    }
  }
}
