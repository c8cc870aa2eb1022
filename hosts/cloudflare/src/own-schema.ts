import type { SqlStorage } from "@cloudflare/workers-types";
import {
  columnsOf,
  isReadableSchema,
  missingStatements,
  SCHEMA_VERSION,
  STORED_SCHEMA,
  sqlName,
  tableNames,
  versionOf,
} from "@inference/ledger/schema";
import type { Row, TableName } from "@inference/ledger/tables";
import { CREATE_LOG } from "./row-log.ts";
import { CREATE_SEGMENTS } from "./row-segments.ts";

/**
 * The newest version of an object that this release reads and writes. An object's own version is the oldest one that
 * reads its rows: opening an object leaves the version, and the first row that needs a newer one raises it. Until then
 * an earlier release can have the object back. Versions below 100 know no segments.
 */
export const OBJECT_VERSION = 100 + SCHEMA_VERSION;
const SEGMENTS = 100;
/** The oldest version that knows the log. */
const LOG_VERSION = 2;

/** The oldest version that reads rows of these tables in the log. */
function logVersion(tables: Iterable<TableName>): number {
  return Math.max(LOG_VERSION, ...Array.from(tables, versionOf));
}

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
  /** Whether there is a log, and the object's version allows rows of these tables in it. */
  takes(tables: Iterable<TableName>): boolean;
  /** Makes it so. */
  makeLog(tables?: Iterable<TableName>): void;
  /** Removes the log with all that is in it, at the price of one row. */
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
  /** Absent before the first row. */
  let version = names.has("schema") ? readVersion(sql) : undefined;
  // An object has the receipts of one partition, so it needs no index of them by partition.
  for (const statement of missingStatements(stored, ["own_receipt"], [...tables])) sql.exec(statement);
  const later = laterColumns(stored);

  function make(table: TableName): void {
    for (const statement of missingStatements([], ["own_receipt"], [table])) sql.exec(statement);
    tables.add(table);
  }

  function raise(tables: number, withSegments = false): void {
    const before = version ?? 0;
    const needed = Math.max(before % SEGMENTS, tables) + (withSegments || before > SEGMENTS ? SEGMENTS : 0);
    if (needed === version) return;
    if (version === undefined) {
      sql.exec("CREATE TABLE schema (version INTEGER NOT NULL) STRICT");
      sql.exec("INSERT INTO schema VALUES (?)", needed);
    } else sql.exec("UPDATE schema SET version = ?", needed);
    version = needed;
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
      raise(LOG_VERSION, true);
    },
    hasLog: () => hasLog,
    takes: (own) => hasLog && version !== undefined && version % SEGMENTS >= logVersion(own),
    makeLog(own = []) {
      raise(logVersion(own));
      if (!hasLog) sql.exec(CREATE_LOG);
      hasLog = true;
    },
    dropLog() {
      sql.exec("DROP TABLE log");
      hasLog = false;
    },
  };
}

function readVersion(sql: Pick<SqlStorage, "exec">): number {
  const version = Number(sql.exec("SELECT version FROM schema").one().version);
  // During a rollout two versions run, and either may open the object. Neither changes a schema that it cannot read.
  if (!isReadableSchema(version) && !isReadableSchema(version - SEGMENTS)) {
    throw new Error(`This object has schema ${version}, and this gateway wants ${OBJECT_VERSION}.`);
  }
  return version;
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
