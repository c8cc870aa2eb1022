import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createStatements, sqlName, tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import { readLog } from "../row-log.ts";
import { openSegments, packedTables } from "../row-segments.ts";

/**
 * The rows of all partitions in one database, in memory, as one machine's file has them. Read from copies: to open an
 * object's files is to tidy up after the process that died over them, which is for the next one to do.
 *
 * @param objects The folder of a local workerd's objects. No object may be running.
 */
export function mergeBooks(objects: string): DatabaseSync {
  const merged = new DatabaseSync(":memory:");
  for (const statement of createStatements()) merged.exec(statement);
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

function storageOf(database: DatabaseSync): Parameters<typeof openSegments>[0] {
  const exec = (statement: string, ...values: string[]) => ({
    toArray: () => database.prepare(statement).all(...values),
  });
  return { exec: exec as never };
}

function addBooks(merged: DatabaseSync, file: string): void {
  merged.prepare("ATTACH ? AS object").run(file);
  // An object has the tables that it needs, and none before its first commit.
  const names = new Set(
    merged
      .prepare("SELECT name FROM object.sqlite_master")
      .all()
      .map(({ name }) => name),
  );
  for (const table of tableNames.filter((table) => names.has(sqlName(table)))) {
    merged.exec(`INSERT INTO main.${sqlName(table)} SELECT * FROM object.${sqlName(table)}`);
  }
  const log = names.has("log") ? readLog((statement) => merged.prepare(statement).all()) : undefined;
  const partition = String(log?.partition);
  const segments = openSegments(storageOf(merged), { hasSegments: () => names.has("segment"), makeSegments() {} }, 0);
  for (const table of packedTables) {
    const { upsert, toColumns, toRow } = tableSql[table];
    for (const stored of segments.list(table, "list", "", Number.POSITIVE_INFINITY)) {
      merged.prepare(upsert).run(...toColumns(partition, toRow(stored)));
    }
  }
  for (const { table, id, row } of log?.changes ?? []) {
    const { remove, upsert, toColumns } = tableSql[table];
    if (row === null) merged.prepare(remove).run(partition, id);
    else merged.prepare(upsert).run(...toColumns(partition, row));
  }
  const integrity = merged.prepare("PRAGMA object.integrity_check").get()?.integrity_check;
  if (integrity !== "ok") throw new Error(`an object's file is damaged: ${String(integrity)}`);
  merged.exec("DETACH object");
}
