import type { SqlStorage } from "@cloudflare/workers-types";
import type { ForgettableTable, LapsedHold, OverduePage, OverdueQuery } from "@inference/ledger/client";
import type { Partition } from "@inference/ledger/partition";
import { missingStatements, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION, STORED_SCHEMA } from "@inference/ledger/schema";
import { LIVE_KEYS, tableSql } from "@inference/ledger/sql";
import { assertStorable } from "@inference/ledger/storable";
import type { Change, KeyRow, OutboxRow, ReadRows } from "@inference/ledger/tables";
import { LAPSED_HOLDS, overdueWalks, toLapsedHold } from "@inference/ledger/walks";

/** The rows of the one partition that an object is, in its own SQLite. */
export type OwnRows = {
  of(partition: Partition): ReadRows;
  write(partition: Partition, changes: readonly Change[]): void;
  /** Deliveries that nobody has acknowledged, after an id. */
  outbox(after: string, limit: number): { partition: Partition; row: OutboxRow }[];
  lapsedHolds(at: number, limit: number): LapsedHold[];
  overdue(table: ForgettableTable, before: number, page: OverdueQuery): OverduePage;
  /** When the first lease of an unresolved hold lapses. */
  firstLease(): number | undefined;
  /** Of the rows of a table that will be forgotten some day, the earliest time from which their keeping is reckoned. */
  firstKept(table: ForgettableTable): number | undefined;
};

/** Opens them, with what the schema has and they lack added. */
export function openOwnRows(sql: SqlStorage): OwnRows {
  const stored = sql.exec(STORED_SCHEMA).toArray();
  if (!stored.some(({ name }) => name === "schema")) {
    sql.exec("CREATE TABLE schema (version INTEGER NOT NULL) STRICT");
    sql.exec("INSERT INTO schema VALUES (?)", SCHEMA_VERSION);
  }
  const version = Number(sql.exec("SELECT version FROM schema").one().version);
  // During a rollout two versions run at a time, and either may come last: it leaves what it cannot read.
  if (version < OLDEST_SCHEMA_VERSION || version > SCHEMA_VERSION) {
    throw new Error(`This object has schema ${version}, and this gateway wants ${SCHEMA_VERSION}.`);
  }
  if (version !== SCHEMA_VERSION) sql.exec("UPDATE schema SET version = ?", SCHEMA_VERSION);
  for (const statement of missingStatements(stored)) sql.exec(statement);
  const select = (statement: string, ...values: (string | number)[]) => sql.exec(statement, ...values).toArray();

  return {
    of(partition) {
      return {
        get: (table, id) => {
          const [stored] = select(tableSql[table].select, partition, id);
          return (stored === undefined ? undefined : tableSql[table].toRow(stored)) as never;
        },
        list: (table, { after = "", limit }) =>
          select(tableSql[table].list, partition, after, limit).map(tableSql[table].toRow) as never,
        newest: (table, { before, limit }) =>
          select(tableSql[table].newest, partition, before, limit).map(tableSql[table].toRow) as never,
        liveKeys: () => select(LIVE_KEYS, partition).map(tableSql.key.toRow) as KeyRow[],
      };
    },
    write(partition, changes) {
      for (const { table, id, row } of changes) {
        if (row === null) sql.exec(tableSql[table].remove, partition, id);
        else {
          assertStorable(table, row);
          sql.exec(tableSql[table].upsert, ...tableSql[table].toColumns(partition, row));
        }
      }
    },
    outbox: (after, limit) =>
      select("SELECT * FROM outbox_row WHERE id > ? ORDER BY partition, id LIMIT ?", after, limit).map((stored) => ({
        partition: String(stored.partition),
        row: tableSql.outbox.toRow(stored) as OutboxRow,
      })),
    lapsedHolds: (at, limit) => select(LAPSED_HOLDS, at, limit).map(toLapsedHold),
    overdue(table, before, page) {
      const walk = overdueWalks[table];
      return walk.toPage(select(walk.select, ...walk.bind(page)), before, page.limit);
    },
    firstLease() {
      const [first] = select(
        "SELECT lease_until FROM hold_row WHERE state IN ('open', 'orphaned') ORDER BY lease_until LIMIT 1",
      );
      return first === undefined ? undefined : Number(first.lease_until);
    },
    firstKept(table) {
      const [first] = select(overdueWalks[table].first);
      return first === undefined || first.at === null ? undefined : Number(first.at);
    },
  };
}
