import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { databaseRows } from "@inference/gateway/test/chaos/database-rows";
import { apply } from "@inference/ledger/apply";
import type { Command, ReplyOf } from "@inference/ledger/commands";
import type { Delivery } from "@inference/ledger/delivery";
import { type ChangedRow, type LayeredRows, PartitionRows } from "@inference/ledger/overlay";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { sqlName, tableNames } from "@inference/ledger/schema";
import { tableSql } from "@inference/ledger/sql";
import { isHold, type ReceiptRow, type TableName } from "@inference/ledger/tables";
import { testLaws } from "@inference/ledger/testing/laws";
import type { WorldHost } from "@inference/ledger/testing/world";
import { openDatabase } from "./database.ts";
import { type NodeLedger, openNodeLedger } from "./ledger.ts";

/** The laws that the ledger in memory keeps, kept by this one: its cache, its commits and its file. */
const folder = mkdtempSync(join(tmpdir(), "laws-"));
let database: DatabaseSync;
let ledger: NodeLedger | undefined;
let crashes = 0;

before(() => {
  database = openDatabase(join(folder, "gateway.sqlite"), "NORMAL");
});

after(async () => {
  await ledger?.close();
  database.close();
  rmSync(folder, { recursive: true });
});

const isDeep = process.env.DEEP === "1";
testLaws(openWorld, { numRuns: isDeep ? 3_000 : 4, numRepeats: isDeep ? 1 : 0, withKnown: isDeep, endOnFailure: true });

test("on the way the ledger was begun anew, with nothing but its file", () => {
  assert.ok(crashes > (isDeep ? 10 : 0), `${crashes} times`);
});

async function openWorld(clock: { now(): number }): Promise<WorldHost> {
  await ledger?.close();
  for (const table of tableNames) database.exec(`DELETE FROM ${sqlName(table)}`);
  let open = begin();
  let delivered: readonly Delivery[] = [];

  function begin(): NodeLedger {
    ledger = openNodeLedger(database, {
      now: clock.now,
      epoch: 1,
      onAlert: () => undefined,
      onFatal(error) {
        throw error;
      },
    });
    return ledger;
  }

  /** The deliveries of a command, and theirs. A chain of them can come back to a partition. */
  function deliveriesOf(partition: Partition, command: Command, written = new Map<string, ChangedRow[]>()): Delivery[] {
    const rows = new PartitionRows(over(written), partition);
    const { changes, deliveries } = apply(partition, rows, command, { clockMs: clock.now(), epoch: 1 });
    for (const { table, id, row } of changes) {
      const others = (written.get(`${partition} ${table}`) ?? []).filter((other) => other.id !== id);
      written.set(`${partition} ${table}`, [...others, { id, row }]);
    }
    return deliveries.flatMap((delivery) => [delivery, ...deliveriesOf(delivery.target, delivery.command, written)]);
  }

  function over(written: ReadonlyMap<string, ChangedRow[]>): LayeredRows<Partition> {
    const changed = (partition: Partition, table: TableName) => written.get(`${partition} ${table}`) ?? [];
    return {
      get(partition, table, id) {
        const change = changed(partition, table).find((other) => other.id === id);
        if (change !== undefined) return change.row ?? undefined;
        return databaseRows(database, partition).get(table, id);
      },
      changed,
      select: (partition, table, order, id, limit) =>
        database.prepare(tableSql[table][order]).all(partition, id, limit).map(tableSql[table].toRow),
      liveKeys: (partition) => databaseRows(database, partition).liveKeys(),
      holds(partition) {
        const holds = new Map(
          databaseRows(database, partition)
            .holds()
            .map((hold) => [hold.id, hold]),
        );
        for (const { id, row } of changed(partition, "receipt")) {
          const receipt = row as ReceiptRow | null;
          if (receipt !== null && isHold(receipt)) holds.set(id, receipt);
          else holds.delete(id);
        }
        return [...holds.values()];
      },
    };
  }

  return {
    async apply<C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>> {
      delivered = deliveriesOf(partition, command);
      const reply = await open.run(() => send(partition, command));
      await open.flush();
      return reply;
    },
    delivered: () => delivered,
    rows: (partition) => databaseRows(database, partition),
    all: (table) =>
      database
        .prepare(`SELECT * FROM ${sqlName(table)} ORDER BY partition, id`)
        .all()
        .map((stored) => ({ partition: String(stored.partition), row: tableSql[table].toRow(stored) as never })),
    async crash() {
      crashes += 1;
      await open.close();
      open = begin();
    },
  };
}
