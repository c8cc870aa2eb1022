import type { DatabaseSync } from "node:sqlite";
import { apply } from "@inference/ledger/apply";
import type { Command } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import type { Partition } from "@inference/ledger/partition";
import { tableSql } from "@inference/ledger/sql";
import { databaseRows } from "./database-rows.ts";

/** Makes the pending deliveries of a dead gateway, as its next start would. */
export function makeDeliveries(database: DatabaseSync): void {
  const outbox = database.prepare("SELECT partition, id, target, command FROM outbox_row");
  for (let left = outbox.all(); left.length > 0; left = outbox.all()) {
    for (const { partition, id, target, command } of left) {
      execute(database, String(target), JSON.parse(String(command)) as Command);
      execute(database, String(partition), { type: "acknowledge", id: String(id) });
    }
  }
}

function execute(database: DatabaseSync, partition: Partition, command: Command): void {
  // No delivery needs an account that has heard the chain in this life.
  const state = { clockMs: Date.now(), epoch: 1 };
  const { changes, deliveries } = apply(partition, databaseRows(database, partition), command, state);
  for (const { table, id, row } of [...changes, ...deliveries.map(outboxChange)]) {
    if (row === null) database.prepare(tableSql[table].remove).run(partition, id);
    else database.prepare(tableSql[table].upsert).run(...tableSql[table].toColumns(partition, row));
  }
}
