import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { auditDatabase } from "@inference/gateway/test/chaos/audit";
import { accountPartition, ceilingPartition, chainPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { type Saga, send } from "@inference/ledger/saga";
import { createKey, hear } from "@inference/ledger/testing/example";
import { openDatabase } from "./database.ts";
import { openNodeLedger } from "./ledger.ts";
import { bytesInUse } from "./testing/heap.ts";

const NOON = Date.UTC(2026, 0, 15, 12);

test("memory grows with the accounts, not with the requests", async () => {
  const accounts = 20_000;
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const database = openDatabase(join(folder, "ledger.sqlite"), "NORMAL");
  const ledger = openNodeLedger(database, {
    now: () => NOON,
    epoch: 1,
    onAlert: (message) => assert.fail(message),
    onFatal: (error) => assert.fail(String(error)),
  });
  await ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 9_000_000_000_000_000 }));
  const owners = Array.from({ length: accounts }, (_, n) => accountPartition(`0x${n.toString(16).padStart(40, "0")}`));
  await inGroups(owners, (partition, n) => ledger.run(() => bookAccount(partition, `digest-${n}`)));
  const round = (name: string): Promise<void> =>
    inGroups(owners, async (partition, n) => {
      const id = `${name}-${n}`;
      const payer = { kind: "key", digest: `digest-${n}` } as const;
      const reservation = {
        id,
        at: NOON,
        owner: partition,
        payer,
        amountNanoUsd: 5,
        leaseMs: 900_000,
        detail: "{}",
        chain: chainPartition(1),
      };
      assert.equal((await ledger.run(() => reserveRequest(reservation))).status, "reserved");
      const ended = {
        type: "settle",
        id,
        at: NOON,
        chargeNanoUsd: 3,
        lossNanoUsd: 0,
        detail: "{}",
        snapshot: "00",
      } as const;
      await ledger.run(() => send(partition, ended), { untilDurable: true });
    });
  await round("first");
  await ledger.flush();
  const before = bytesInUse();
  for (const name of ["second", "third"]) await round(name);
  await ledger.flush();
  const grown = bytesInUse() - before;
  const perRequest = grown / (2 * accounts);
  // A row that stays takes more: its cell, itself and its id.
  assert.ok(perRequest < 200, `${Math.round(perRequest)} bytes stay in memory of each request`);
  const perAccount = before / accounts;
  assert.ok(perAccount < 4_500, `${Math.round(perAccount)} bytes stay in memory of each account`);
  assert.equal(auditDatabase(database).receipts, 3 * accounts);
  await ledger.close();
  database.close();
  rmSync(folder, { recursive: true });
});

function* bookAccount(partition: Partition, digest: string): Saga<void> {
  yield* send(partition, hear(1_000_000_000, { at: NOON }));
  yield* send(partition, createKey("key", { at: NOON, digest, window: "day", nonceExpiresAt: NOON }));
}

async function inGroups<T>(items: readonly T[], work: (item: T, index: number) => Promise<unknown>): Promise<void> {
  const GROUP = 500;
  for (let from = 0; from < items.length; from += GROUP) {
    await Promise.all(items.slice(from, from + GROUP).map((item, index) => work(item, from + index)));
  }
}
