import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "@inference/ledger/commands";
import { outboxChange } from "@inference/ledger/delivery";
import type { Change, Row, TableName } from "@inference/ledger/tables";
import { account, createKey, credit, makeExample, reserve, settle } from "@inference/ledger/testing/example";
import { exampleRow } from "./testing/example-rows.ts";
import { type NodeStorage, openNodeStorage } from "./testing/node-storage.ts";
import * as current from "./testing/release.ts";

/**
 * The code of the previous release over the rows of this one. A release that fails here cannot be rolled back: let the
 * previous one learn to read the new rows first, and write them a release later.
 */
const previous = (await import(
  new URL("testing/fixtures/previous-release.js", import.meta.url).href
)) as typeof current;
type Release = typeof current;

/** Some rows are in the log, some in tables, and some in segments. */
const brief = { slots: 2, characters: 100_000 };
const EACH = 3;

function put(table: TableName, id: string, seed: number): Change {
  return { table, id, row: exampleRow(table, id, seed) } as Change;
}

function write(release: Release, storage: NodeStorage, changes: readonly Change[]): void {
  const rows = release.openOwnRows(storage, brief);
  rows.write(account, changes);
  rows.commit();
}

function read(release: Release, storage: NodeStorage): { [table: string]: Row[] } {
  const rows = release.openOwnRows(storage, brief).of(account);
  return Object.fromEntries(previous.tableNames.map((table) => [table, rows.list(table, { limit: 1_000 })]));
}

for (const [name, first, second] of [
  ["the previous release reads and changes rows of this one", current, previous],
  ["this release reads and changes rows of the previous one", previous, current],
] as const) {
  test(`${name}, of every table`, () => {
    const storage = openNodeStorage();
    const expected = openNodeStorage();
    for (let n = 0; n < EACH; n += 1) {
      const changes = current.tableNames.map((table) => put(table, `req_${n}`, n));
      write(first, storage, changes);
      write(current, expected, changes);
    }
    assert.deepEqual(read(second, storage), read(current, expected));
    for (let n = 0; n < EACH; n += 1) {
      const changes = current.tableNames.map((table) => put(table, `req_${n}`, n + 7));
      write(second, storage, changes);
      write(current, expected, changes);
    }
    for (const release of [first, second]) assert.deepEqual(read(release, storage), read(current, expected));
  });
}

test("an account that goes from release to release with each command has the books of one that stays", () => {
  const storage = openNodeStorage();
  const stays = makeExample();
  const commands: Command[] = [credit("1:1", 1_000), createKey("key1")];
  for (let n = 0; n < 10; n += 1) commands.push(reserve(`req_${n}`, 50), settle(`req_${n}`, n));
  for (const [n, command] of commands.entries()) {
    const release = n % 3 === 0 ? previous : current;
    const rows = release.openOwnRows(storage, brief);
    const { reply, changes, deliveries } = release.apply(account, rows.of(account), command, stays.clock.now);
    rows.write(account, [...changes, ...deliveries.map(outboxChange)]);
    rows.commit();
    assert.deepEqual(reply, stays.apply(account, command), command.type);
  }
  for (const release of [previous, current]) {
    const { counter, receipt } = read(release, storage);
    const own = stays.rows(account);
    assert.deepEqual(counter, own.list("counter", { limit: 100 }));
    assert.deepEqual(receipt, own.list("receipt", { limit: 100 }));
  }
});
