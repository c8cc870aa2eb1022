import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { auditDatabase } from "@inference/gateway/test/chaos/audit";
import { activate, CHAIN_ID } from "@inference/gateway/test/fund";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import { createKey } from "@inference/ledger/testing/example";
import { openDatabase } from "./database.ts";
import { openNodeLedger } from "./ledger.ts";

/** The file and the WAL of a ledger whose process ended, and the WAL's length when each settle was answered. */
const folder = mkdtempSync(join(tmpdir(), "torn-"));
const file = join(folder, "gateway.sqlite");
const address = `0x${"a".repeat(40)}` as const;
const owner = accountPartition(address);
const chain = chainPartition(CHAIN_ID);
const NOON = Date.UTC(2026, 0, 15, 12);
const PAIRS = 4;
const answered: number[] = [];

before(async () => {
  const database = openDatabase(file);
  const fail = (error: unknown) => assert.fail(String(error));
  const ledger = openNodeLedger(database, { now: () => NOON, epoch: 1, onAlert: fail, onFatal: fail });
  await ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000_000 }));
  await activate((partition, command) => ledger.run(() => send(partition, command)), address, 1_000_000_000);
  await ledger.run(() => send(owner, createKey("key", { at: NOON, digest: "digest", nonceExpiresAt: NOON })));
  // Until then the WAL is empty: each state below is its file and a part of the WAL.
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  for (let n = 0; n < PAIRS; n++) {
    const id = `r${String(n).padStart(2, "0")}`;
    const payer = { kind: "key", digest: "digest" } as const;
    const reservation = { id, at: NOON, owner, payer, amountNanoUsd: 100, leaseMs: 900_000, detail: "{}", chain };
    assert.equal((await ledger.run(() => reserveRequest(reservation))).status, "reserved");
    await ledger.run(() =>
      send(owner, { type: "settle", id, at: NOON, chargeNanoUsd: 60, lossNanoUsd: 0, detail: "{}", snapshot: "00" }),
    );
    answered.push(statSync(`${file}-wal`).size);
  }
  for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${join(folder, "left")}${end}`);
  await ledger.close();
  database.close();
});
after(() => rmSync(folder, { recursive: true }));

/** The receipts that a gateway finds with this WAL. */
function receiptsWith(change: (wal: string) => void): number {
  const copy = join(folder, "copy");
  for (const end of ["-wal", "-shm", "-lock"]) rmSync(`${copy}${end}`, { force: true });
  for (const end of ["", "-wal"]) copyFileSync(`${join(folder, "left")}${end}`, `${copy}${end}`);
  change(`${copy}-wal`);
  const database = openDatabase(copy);
  try {
    const { problems, receipts } = auditDatabase(database);
    assert.deepEqual(problems, []);
    return receipts;
  } finally {
    database.close();
  }
}

const FRAME_BYTES = 4096 + 24;

test("a WAL that ends anywhere has all commits before its end, whole, and nothing of the next one", () => {
  const length = statSync(join(folder, "left-wal")).size;
  assert.ok(length >= (answered.at(-1) ?? 0) && answered.length === PAIRS);
  for (let end = 0; end <= length; end += FRAME_BYTES) {
    for (const at of [end, end + 32, end + 700]) {
      const receipts = receiptsWith((wal) => truncateSync(wal, Math.min(at, length)));
      assert.equal(receipts, answered.filter((bytes) => bytes <= at).length, `${at} of ${length} bytes`);
    }
  }
});

test("a damaged byte of the WAL ends it there, as if the rest had not been written", () => {
  const whole = readFileSync(join(folder, "left-wal"));
  for (let at = 32 + 2_000; at < whole.length; at += 7 * FRAME_BYTES) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    const receipts = receiptsWith((wal) => writeFileSync(wal, damaged));
    assert.equal(receipts, answered.filter((bytes) => bytes <= at).length, `byte ${at}`);
  }
});
