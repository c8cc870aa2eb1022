import type { SqlStorage } from "@cloudflare/workers-types";
import {
  columnsOf,
  isReadableSchema,
  missingStatements,
  SCHEMA_VERSION,
  STORED_SCHEMA,
  sqlName,
  tableNames,
} from "@inference/ledger/schema";
import type { TableName } from "@inference/ledger/tables";
import { CREATE_LOG } from "./row-log.ts";

/** Columns of a later version, by table. Rows in the log may have them, and this version keeps their values. */
export type LaterColumns = ReadonlyMap<TableName, readonly { property: string; column: string }[]>;

/**
 * Creates an object's tables, or adds missing tables and columns.
 *
 * @throws If the schema's version is another one, which may keep rows elsewhere.
 */
export function openSchema(sql: Pick<SqlStorage, "exec">): LaterColumns {
  const stored = sql.exec(STORED_SCHEMA).toArray();
  const has = (name: string): boolean => stored.some((entry) => entry.name === name);
  if (!has("schema")) {
    sql.exec("CREATE TABLE schema (version INTEGER NOT NULL) STRICT");
    sql.exec("INSERT INTO schema VALUES (?)", SCHEMA_VERSION);
  }
  const version = Number(sql.exec("SELECT version FROM schema").one().version);
  // During a rollout two versions run, and either may open the object. Neither changes a schema that it cannot read.
  if (!isReadableSchema(version)) {
    throw new Error(`This object has schema ${version}, and this gateway wants ${SCHEMA_VERSION}.`);
  }
  if (version !== SCHEMA_VERSION) sql.exec("UPDATE schema SET version = ?", SCHEMA_VERSION);
  if (!has("log")) sql.exec(CREATE_LOG);
  // An object has the receipts of one partition, so it needs no index of them by partition.
  for (const statement of missingStatements(stored, ["own_receipt"])) sql.exec(statement);
  return laterColumns(stored);
}

function laterColumns(stored: readonly Readonly<Record<string, unknown>>[]): LaterColumns {
  const later = new Map<TableName, { property: string; column: string }[]>();
  for (const table of tableNames) {
    const known = new Set(["partition", "id", ...columnsOf(table).map(({ column }) => column)]);
    const columns = stored.flatMap(({ name, part }) => {
      const column = String(part);
      return name === sqlName(table) && !known.has(column) ? [{ property: propertyOf(column), column }] : [];
    });
    if (columns.length > 0) later.set(table, columns);
  }
  return later;
}

function propertyOf(column: string): string {
  return column.replace(/_[a-z]/g, (letter) => letter.slice(1).toUpperCase());
}
