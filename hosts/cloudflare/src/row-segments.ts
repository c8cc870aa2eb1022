import type { SqlStorage } from "@cloudflare/workers-types";
import { columnsOf } from "@inference/ledger/schema";
import type { Row, TableName } from "@inference/ledger/tables";

/**
 * Rows of requests that are over, many of them in one row of SQLite. Cloudflare bills each row that is written or
 * deleted, whatever its size, and these rows are written once, read seldom, and removed in the order of their ids.
 *
 * The segments of a table follow each other by their ids: `start` is the least id that a segment may have, and the next
 * segment's start is the end. A row that comes late goes into the segment that its id belongs to, which is then written
 * again. A segment that becomes too large is split.
 */
export const CREATE_SEGMENTS = `CREATE TABLE segment (
  name TEXT NOT NULL, start TEXT NOT NULL, rows TEXT NOT NULL, PRIMARY KEY (name, start)
) STRICT, WITHOUT ROWID`;

/** The tables with such rows. Their ids only grow: receipts' with time, uses' with what their account owes. */
export const packedTables: readonly TableName[] = ["receipt", "use"];

const AT = "SELECT start, rows FROM segment WHERE name = ? AND start <= ? ORDER BY start DESC LIMIT 1";
const BEFORE = "SELECT start, rows FROM segment WHERE name = ? AND start < ? ORDER BY start DESC LIMIT 1";
const AFTER = "SELECT start, rows FROM segment WHERE name = ? AND start > ? ORDER BY start LIMIT 1";
const NEXT_START = "SELECT min(start) AS start FROM segment WHERE name = ? AND start > ?";
const WRITE = `INSERT INTO segment (name, start, rows) VALUES (?, ?, ?)
  ON CONFLICT (name, start) DO UPDATE SET rows = excluded.rows`;
const REMOVE = "DELETE FROM segment WHERE name = ? AND start = ?";

/** A row by its columns, as its table would have it. It may have columns that only a later version knows. */
export type StoredRow = Readonly<Record<string, unknown>>;

export type Segments = {
  get(table: TableName, id: string): StoredRow | undefined;
  /** The rows after an id, or before it and backwards. */
  list(table: TableName, order: "list" | "newest", id: string, limit: number): StoredRow[];
  /** Writes rows, and removes those that are null. */
  write(table: TableName, changes: ReadonlyMap<string, Row | null>): void;
};

type Segment = { start: string; rows: ReadonlyMap<string, StoredRow> };

/**
 * @param schema Says whether there is a table of segments, and creates it.
 * @param characters From this size a segment is full. It may exceed it by a row.
 */
export function openSegments(
  sql: Pick<SqlStorage, "exec">,
  schema: { hasSegments(): boolean; makeSegments(): void },
  characters: number,
): Segments {
  /** The segment that was read last: rows that come late are often in the same one. */
  let last: { table: TableName; text: string; segment: Segment } | undefined;

  function find(statement: string, table: TableName, id: string): Segment | undefined {
    if (!schema.hasSegments()) return undefined;
    const [stored] = sql.exec(statement, table, id).toArray();
    if (stored === undefined) return undefined;
    const start = String(stored.start);
    const text = String(stored.rows);
    if (last?.table === table && last.segment.start === start && last.text === text) return last.segment;
    const segment = { start, rows: parse(table, text) };
    last = { table, text, segment };
    return segment;
  }

  /** Where the next segment begins; null if this is the last one. */
  function endOf(table: TableName, id: string): string | null {
    const next = schema.hasSegments() ? sql.exec(NEXT_START, table, id).one().start : null;
    return next === null ? null : String(next);
  }

  function store(table: TableName, segment: Segment | undefined, rows: readonly StoredRow[], isLast: boolean): void {
    if (!schema.hasSegments()) schema.makeSegments();
    // Nothing is before the first segment, so that rows which come late find it.
    let start = segment?.start ?? "";
    if (rows.length === 0) sql.exec(REMOVE, table, start);
    for (const part of split(rows, characters, isLast)) {
      sql.exec(WRITE, table, start, part.text);
      start = part.next;
    }
  }

  return {
    get: (table, id) => find(AT, table, id)?.rows.get(id),
    list(table, order, id, limit) {
      const isUpward = order === "list";
      const found: StoredRow[] = [];
      let segment = find(isUpward ? AT : BEFORE, table, id) ?? (isUpward ? find(AFTER, table, id) : undefined);
      while (segment !== undefined) {
        const rows = [...segment.rows.values()];
        for (const row of isUpward ? rows : rows.reverse()) {
          const rowId = String(row.id);
          if (isUpward ? rowId <= id : rowId >= id) continue;
          if (found.length === limit) return found;
          found.push(row);
        }
        segment = find(isUpward ? AFTER : BEFORE, table, segment.start);
      }
      return found;
    },
    write(table, changes) {
      const ids = [...changes.keys()].sort();
      for (let from = 0; from < ids.length; ) {
        const segment = find(AT, table, ids[from] ?? "");
        const end = endOf(table, ids[from] ?? "");
        const past = end === null ? -1 : ids.findIndex((id) => id >= end);
        const own = ids.slice(from, past === -1 ? ids.length : past);
        const rows = new Map(segment?.rows);
        for (const id of own) {
          const row = changes.get(id) ?? null;
          if (row === null) rows.delete(id);
          else rows.set(id, { ...rows.get(id), ...toStored(row) });
        }
        const isKnown = own.some((id) => changes.get(id) !== null || segment?.rows.has(id));
        if (isKnown) store(table, segment, [...rows.values()].sort(byId), end === null);
        from += own.length;
      }
    },
  };
}

function byId(one: StoredRow, other: StoredRow): number {
  return String(one.id) < String(other.id) ? -1 : 1;
}

/**
 * The texts of the segments that have these rows, and where the next one begins. At the end they are filled one after
 * the other, because rows are added there. Elsewhere they are of a size, with room for what comes late.
 */
function split(rows: readonly StoredRow[], characters: number, isLast: boolean): { text: string; next: string }[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const texts = rows.map((row) => JSON.stringify(names.map((name) => row[name] ?? null)));
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  const full = isLast ? characters : total / Math.ceil(total / Math.max(characters, 1));
  const parts: { text: string; next: string }[] = [];
  let own: string[] = [];
  let length = 0;
  for (const [at, text] of texts.entries()) {
    own.push(text);
    length += text.length;
    const next = rows[at + 1];
    if (next !== undefined && length < full) continue;
    parts.push({ text: `[${[JSON.stringify(names), ...own].join(",")}]`, next: String(next?.id) });
    own = [];
    length = 0;
  }
  return parts;
}

/** The names of the columns come first. A column that a table has had since is null. */
function parse(table: TableName, text: string): Map<string, StoredRow> {
  const [names = [], ...rows] = JSON.parse(text) as [string[], ...unknown[][]];
  const lacking = columnsOf(table).filter(({ column }) => !names.includes(column));
  const nulls = lacking.map(({ column }) => [column, null]);
  return new Map(
    rows.map((values) => {
      const row: StoredRow = Object.fromEntries([...nulls, ...names.map((name, at) => [name, values[at]])]);
      return [String(row.id), row];
    }),
  );
}

function toStored(row: Row): StoredRow {
  return Object.fromEntries(Object.entries(row).map(([property, value]) => [columnName(property), value]));
}

const columnNames = new Map<string, string>();

function columnName(property: string): string {
  const known = columnNames.get(property);
  if (known !== undefined) return known;
  const name = property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columnNames.set(property, name);
  return name;
}
