import type { DatabaseSync } from "node:sqlite";
import type { Partition } from "@inference/ledger/partition";
import { HOLDS, LIVE_KEYS, tableSql } from "@inference/ledger/sql";
import type { KeyRow, ReadRows, ReceiptRow } from "@inference/ledger/tables";

/** A partition's rows as a database has them. */
export function databaseRows(database: DatabaseSync, partition: Partition): ReadRows {
  return {
    get(table, id) {
      const stored = database.prepare(tableSql[table].select).get(partition, id);
      return (stored === undefined ? undefined : tableSql[table].toRow(stored)) as never;
    },
    list: (table, { after = "", limit }) =>
      database.prepare(tableSql[table].list).all(partition, after, limit).map(tableSql[table].toRow) as never,
    newest: (table, { before, limit }) =>
      database.prepare(tableSql[table].newest).all(partition, before, limit).map(tableSql[table].toRow) as never,
    liveKeys: () => database.prepare(LIVE_KEYS).all(partition).map(tableSql.key.toRow) as KeyRow[],
    holds: () => database.prepare(HOLDS).all(partition).map(tableSql.receipt.toRow) as ReceiptRow[],
  };
}
