import type { SqlStorage } from "@cloudflare/workers-types";
import { byId } from "@inference/ledger/overlay";
import { pack, unpack } from "./packed-text.ts";
import type { StoredRow } from "./row-log.ts";

/**
 * The rows that left the log, many of one kind in a row of SQLite: Cloudflare bills each row that is written or
 * deleted, whatever its size.
 *
 * The segments of a kind follow each other by their ids: `start` is the least id that a segment may have, and the next
 * segment's start is the end, as with the leaves of a B-tree. A row that comes late goes into the segment of its id,
 * which is then written again. A segment that becomes too large is split. `last` is its last id, and `kept` the earliest
 * time from which the retention of one of its rows counts.
 */
export const CREATE_SEGMENTS = `CREATE TABLE segment (
  kind TEXT NOT NULL, start TEXT NOT NULL, last TEXT NOT NULL, kept INTEGER, rows TEXT NOT NULL,
  PRIMARY KEY (kind, start)
) STRICT, WITHOUT ROWID`;

const AT = "SELECT start, rows FROM segment WHERE kind = ? AND start <= ? ORDER BY start DESC LIMIT 1";
const BEFORE = "SELECT start, rows FROM segment WHERE kind = ? AND start < ? ORDER BY start DESC LIMIT 1";
const AFTER = "SELECT start, rows FROM segment WHERE kind = ? AND start > ? ORDER BY start LIMIT 1";
const NEXT_START = "SELECT min(start) AS start FROM segment WHERE kind = ? AND start > ?";
const LAST = "SELECT last FROM segment WHERE kind = ? ORDER BY start DESC LIMIT 1";
const BY_KEPT = "SELECT start, kept FROM segment WHERE kind = ? AND kept IS NOT NULL ORDER BY kept";
const NEXT_OVERDUE = "SELECT start, rows FROM segment WHERE kind = ? AND start > ? AND kept < ? ORDER BY start LIMIT 1";
const NEXT = "SELECT kind, start, rows FROM segment WHERE (kind, start) > (?, ?) ORDER BY kind, start LIMIT 1";
const WRITE = `INSERT INTO segment (kind, start, last, kept, rows) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (kind, start) DO UPDATE SET last = excluded.last, kept = excluded.kept, rows = excluded.rows`;
const REMOVE = "DELETE FROM segment WHERE kind = ? AND start = ?";

export type Segments = {
  /** Whether there was ever a segment. */
  exist(): boolean;
  /** All segments of all kinds after this name, in order. */
  all(after: string): Iterable<{ kind: string; rows: Iterable<StoredRow> }>;
  get(kind: string, id: string): StoredRow | undefined;
  /** The rows after an id, or before it and backwards. */
  list(kind: string, order: "list" | "newest", id: string, limit: number): StoredRow[];
  /** A kind's segments with a `kept`, the earliest first. */
  byKept(kind: string): Iterable<{ kept: number; rows: Iterable<StoredRow> }>;
  /** The segment of an id, and those after it with a row whose retention counts from before a time. */
  overdue(kind: string, before: number, id: string): Iterable<Iterable<StoredRow>>;
  /** Writes rows, and removes those that are null. */
  write(kind: string, changes: ReadonlyMap<string, StoredRow | null>): void;
};

type Options = {
  isStored: boolean;
  /** From this size a segment of a kind is full. It may exceed it by a row. */
  charactersOf(kind: string): number;
  /** Whether the segments of a kind are compressed. */
  isPacked(kind: string): boolean;
  /** The time from which the retention of a row counts; null if it has none. */
  keptFrom(kind: string, row: StoredRow): number | null;
};

type Segment = { kind: string; start: string; rows: ReadonlyMap<string, StoredRow> };

export function openSegments(
  sql: Pick<SqlStorage, "exec">,
  { isStored, charactersOf, isPacked, keptFrom }: Options,
): Segments {
  let hasTable = isStored;
  /** The segment that was read last: rows that come late are often in the same one. */
  let last: Segment | undefined;
  /** No row of a kind has an id after this one. Ids of new requests are, and are not looked for. */
  const newest = new Map<string, string>();

  function select(statement: string, ...values: (string | number)[]): Record<string, unknown>[] {
    return hasTable ? sql.exec(statement, ...values).toArray() : [];
  }

  function find(statement: string, kind: string, ...values: (string | number)[]): Segment | undefined {
    const [stored] = select(statement, kind, ...values);
    if (stored === undefined) return undefined;
    const start = String(stored.start);
    if (last?.kind !== kind || last.start !== start) last = { kind, start, rows: readSegment(stored.rows) };
    return last;
  }

  function isAfterAll(kind: string, id: string): boolean {
    let known = newest.get(kind);
    if (known === undefined) {
      known = String(select(LAST, kind)[0]?.last ?? "");
      newest.set(kind, known);
    }
    return id > known;
  }

  function store(kind: string, start: string, rows: readonly StoredRow[], isLast: boolean): void {
    if (!hasTable) sql.exec(CREATE_SEGMENTS);
    hasTable = true;
    last = undefined;
    if (rows.length === 0) sql.exec(REMOVE, kind, start);
    let from = start;
    for (const part of split(rows, charactersOf(kind), isLast)) {
      const times = part.rows.flatMap((row) => keptFrom(kind, row) ?? []);
      const end = part.rows.at(-1)?.id ?? from;
      const text = isPacked(kind) ? pack(part.text) : part.text;
      sql.exec(WRITE, kind, from, end, times.length === 0 ? null : Math.min(...times), text);
      if (isAfterAll(kind, end)) newest.set(kind, end);
      from = part.next;
    }
  }

  return {
    exist: () => hasTable,
    *all(after) {
      let [stored] = select(NEXT, after, "");
      while (stored !== undefined) {
        const kind = String(stored.kind);
        yield { kind, rows: readSegment(stored.rows).values() };
        [stored] = select(NEXT, kind, String(stored.start));
      }
    },
    get: (kind, id) => (isAfterAll(kind, id) ? undefined : find(AT, kind, id)?.rows.get(id)),
    list(kind, order, id, limit) {
      const isUpward = order === "list";
      const found: StoredRow[] = [];
      let segment = find(isUpward ? AT : BEFORE, kind, id) ?? (isUpward ? find(AFTER, kind, id) : undefined);
      while (segment !== undefined) {
        const rows = [...segment.rows.values()];
        for (const row of isUpward ? rows : rows.reverse()) {
          if (isUpward ? row.id <= id : row.id >= id) continue;
          if (found.length === limit) return found;
          found.push(row);
        }
        segment = find(isUpward ? AFTER : BEFORE, kind, segment.start);
      }
      return found;
    },
    *byKept(kind) {
      for (const { start, kept } of select(BY_KEPT, kind)) {
        yield { kept: Number(kept), rows: find(AT, kind, String(start))?.rows.values() ?? [] };
      }
    },
    *overdue(kind, before, id) {
      let segment = find(AT, kind, id) ?? find(NEXT_OVERDUE, kind, "", before);
      while (segment !== undefined) {
        yield segment.rows.values();
        segment = find(NEXT_OVERDUE, kind, segment.start, before);
      }
    },
    write(kind, changes) {
      const ids = [...changes.keys()].filter((id) => changes.get(id) !== null || !isAfterAll(kind, id)).sort();
      for (let from = 0; from < ids.length; ) {
        const segment = find(AT, kind, ids[from] ?? "");
        const [next] = select(NEXT_START, kind, ids[from] ?? "");
        const end = next?.start == null ? undefined : String(next.start);
        const past = end === undefined ? -1 : ids.findIndex((id) => id >= end);
        const own = ids.slice(from, past === -1 ? ids.length : past);
        const rows = new Map(segment?.rows);
        for (const id of own) {
          const row = changes.get(id) ?? null;
          if (row === null) rows.delete(id);
          else rows.set(id, row);
        }
        const isChanged = own.some((id) => changes.get(id) !== null || segment?.rows.has(id));
        // Nothing is before the first segment, so that rows which come late find it.
        if (isChanged) store(kind, segment?.start ?? "", [...rows.values()].sort(byId), end === undefined);
        from += own.length;
      }
    },
  };
}

/**
 * The segments that have these rows, and where the next one begins. At the end they are filled one after the other,
 * because rows are added there. Elsewhere they are of a size, with room for what comes late.
 */
function split(
  rows: readonly StoredRow[],
  characters: number,
  isLast: boolean,
): { rows: StoredRow[]; text: string; next: string }[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const texts = rows.map((row) => JSON.stringify(names.map((name) => row[name] ?? null)));
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  const full = isLast ? characters : total / Math.ceil(total / Math.max(characters, 1));
  const parts: { rows: StoredRow[]; text: string; next: string }[] = [];
  let begin = 0;
  let length = 0;
  for (const [at, text] of texts.entries()) {
    length += text.length;
    const next = rows[at + 1];
    if (next !== undefined && length < full) continue;
    const joined = [JSON.stringify(names), ...texts.slice(begin, at + 1)].join(",");
    parts.push({ rows: rows.slice(begin, at + 1), text: `[${joined}]`, next: next?.id ?? "" });
    begin = at + 1;
    length = 0;
  }
  return parts;
}

/** The names of the properties come first. */
export function readSegment(stored: unknown): Map<string, StoredRow> {
  const [names = [], ...rows] = JSON.parse(unpack(stored)) as [string[], ...unknown[][]];
  return new Map(
    rows.map((values) => {
      const row = Object.fromEntries(names.map((name, at) => [name, values[at]])) as StoredRow;
      return [row.id, row];
    }),
  );
}
