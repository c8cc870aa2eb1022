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
import type { Row, TableName } from "@inference/ledger/tables";
import { CREATE_LOG } from "./row-log.ts";
import { CREATE_SEGMENTS } from "./row-segments.ts";

/** The version of an object's rows. An object is not opened by a release that has another one. */
export const OBJECT_VERSION = SCHEMA_VERSION;

/** A column that only a later version knows. Rows in the log may have it, and this version keeps its values. */
export type LaterColumn = { readonly property: string; readonly column: string };

/**
 * The tables of an object. Each is created for its first row, because most objects need few of them, and each costs a
 * row and a page of 4 KB. An object that was only asked has none.
 */
export type OwnSchema = {
  /** Whether there is a table. Without it, it has no rows. */
  has(table: TableName): boolean;
  /** Creates what the table lacks for this row. */
  makeFor(table: TableName, row: Row): void;
  later(table: TableName): readonly LaterColumn[];
  hasSegments(): boolean;
  makeSegments(): void;
  hasLog(): boolean;
  makeLog(): void;
  /** Removes the log, at the price of one row. */
  dropLog(): void;
};

/**
 * Reads an object's schema, and adds columns and indexes that its tables lack.
 *
 * @throws If the schema's version is another one, which may keep rows elsewhere.
 */
export function openSchema(sql: Pick<SqlStorage, "exec">): OwnSchema {
  const stored = sql.exec(STORED_SCHEMA).toArray();
  const names = new Set(stored.map(({ name }) => name));
  const tables = new Set(tableNames.filter((table) => names.has(sqlName(table))));
  let hasSegments = names.has("segment");
  let hasLog = names.has("log");
  /** An object without rows has no version. */
  let hasVersion = names.has("schema");
  if (hasVersion) checkVersion(sql);
  // An object has the receipts of one partition, so it needs no index of them by partition.
  for (const statement of missingStatements(stored, ["own_receipt"], [...tables])) sql.exec(statement);
  const later = laterColumns(stored);

  function make(table: TableName): void {
    for (const statement of missingStatements([], ["own_receipt"], [table])) sql.exec(statement);
    tables.add(table);
  }

  function noteVersion(): void {
    if (hasVersion) return;
    sql.exec("CREATE TABLE schema (version INTEGER NOT NULL) STRICT");
    sql.exec("INSERT INTO schema VALUES (?)", OBJECT_VERSION);
    hasVersion = true;
  }

  return {
    has: (table) => tables.has(table),
    makeFor(table, row) {
      if (!tables.has(table)) make(table);
      const known = knownProperties(table);
      const columns = later.get(table) ?? [];
      for (const property of Object.keys(row)) {
        if (known.has(property) || columns.some((column) => column.property === property)) continue;
        const column = columnOf(property);
        sql.exec(`ALTER TABLE ${sqlName(table)} ADD COLUMN ${column} ANY`);
        columns.push({ property, column });
        later.set(table, columns);
      }
    },
    later: (table) => later.get(table) ?? [],
    hasSegments: () => hasSegments,
    makeSegments() {
      sql.exec(CREATE_SEGMENTS);
      hasSegments = true;
      noteVersion();
    },
    hasLog: () => hasLog,
    makeLog() {
      noteVersion();
      if (!hasLog) sql.exec(CREATE_LOG);
      hasLog = true;
    },
    dropLog() {
      sql.exec("DROP TABLE log");
      hasLog = false;
    },
  };
}

function checkVersion(sql: Pick<SqlStorage, "exec">): void {
  const version = Number(sql.exec("SELECT version FROM schema").one().version);
  if (isReadableSchema(version)) return;
  throw new Error(`This object has schema ${version}, and this gateway wants ${OBJECT_VERSION}.`);
}

const properties = new Map(
  tableNames.map((table) => [table, new Set(["id", ...columnsOf(table).map(({ property }) => property)])]),
);

function knownProperties(table: TableName): ReadonlySet<string> {
  return properties.get(table) ?? new Set();
}

function laterColumns(stored: readonly Readonly<Record<string, unknown>>[]): Map<TableName, LaterColumn[]> {
  const later = new Map<TableName, LaterColumn[]>();
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

/** @throws For what is no property of a row. */
function columnOf(property: string): string {
  if (!/^[a-z][a-zA-Z0-9]*$/.test(property)) throw new Error(`A row has a property ${JSON.stringify(property)}.`);
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
