import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@inference/protocol/testing/eventually";
import { isDiskFull, openDatabase } from "./database.ts";
import { foldedUntil, openFold } from "./fold.ts";
import { type Folding, openFolding } from "./folding.ts";
import { type LogFiles, openLogFiles } from "./log-files.ts";
import { RecordWriter } from "./log-rows.ts";

const folder = mkdtempSync(join(tmpdir(), "folding-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

type Opened = { database: DatabaseSync; log: LogFiles; folding: Folding; folds: number[]; failures: unknown[] };

function open(): Opened {
  const file = join(folder, `${++files}.sqlite`);
  const database = openDatabase(file, "NORMAL");
  const log = openLogFiles(file, foldedUntil(database), "NORMAL");
  const folds: number[] = [];
  const failures: unknown[] = [];
  const folding = openFolding({ file, synchronous: "NORMAL" }, log, {
    onFolded: (number) => folds.push(number),
    onFailed: (error) => failures.push(error),
  });
  return { database, log, folding, folds, failures };
}

async function close({ database, log, folding }: Opened): Promise<void> {
  await folding.stop();
  log.close();
  database.close();
}

function nonce(id: string): Uint8Array {
  const writer = new RecordWriter();
  writer.add("account:a", "nonce", id, { id, expiresAt: 1, digest: null });
  return writer.finish();
}

const nonces = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT COUNT(*) AS count FROM nonce_row").get()?.count);

test("light steady traffic is folded while it lasts, so what is not yet in its tables stays bounded", async () => {
  const opened = open();
  const { database, log, folding, folds } = opened;
  let mostUnfolded = 0;
  const until = performance.now() + 2_000;
  for (let n = 0; performance.now() < until; n++) {
    await folding.keepUp();
    await log.append(nonce(`n${n}`));
    folding.soon();
    mostUnfolded = Math.max(mostUnfolded, log.last - (folds.at(-1) ?? 0));
    await sleep(2);
  }
  assert.ok(folds.length >= 3, `${folds.length} folds in 2 s`);
  assert.ok(mostUnfolded <= 700, `${mostUnfolded} commits were in the log and not in their tables`);
  await folding.all();
  assert.equal(nonces(database), log.last);
  assert.equal(foldedUntil(database).last, log.last);
  await close(opened);
});

test("an append never waits for a fold until the log is large, and then it does", async () => {
  const opened = open();
  const { log, folding, database } = opened;
  const large = nonce("x".repeat(8 * 2 ** 20));
  for (let n = 0; n < 9; n++) await log.append(large);
  assert.ok(log.unfoldedBytes > 64 * 2 ** 20);
  await folding.keepUp();
  assert.equal(log.unfoldedBytes, 0);
  assert.equal(nonces(database), 1);
  await close(opened);
});

test("a fold that fails is told, changes nothing, and is made by the next start", async () => {
  const opened = open();
  const { database, log, folding, failures } = opened;
  database.exec("CREATE TRIGGER refuse BEFORE INSERT ON nonce_row BEGIN SELECT RAISE(ABORT, 'refused'); END");
  await log.append(nonce("refused"));
  folding.soon();
  await eventually(() => assert.match(String(failures), /refused/), 5_000);
  assert.deepEqual([nonces(database), foldedUntil(database).last], [0, 0]);
  database.exec("DROP TRIGGER refuse");
  const file = database.location() ?? "";
  await close(opened);
  const next = openDatabase(file);
  assert.deepEqual([nonces(next), foldedUntil(next).last], [1, 1]);
  next.close();
});

test("a full disk leaves the tables as they were, and the same records can be folded later; no record is folded twice", () => {
  const database = openDatabase(join(folder, `${++files}.sqlite`), "NORMAL");
  const fold = openFold(database);
  const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
  database.exec(`PRAGMA max_page_count = ${pages}`);
  const records = [nonce("a"), nonce("x".repeat(100_000))];
  assert.throws(() => fold(records, 1), isDiskFull);
  assert.deepEqual([nonces(database), foldedUntil(database).last], [0, 0]);
  database.exec("PRAGMA max_page_count = 100000");
  fold(records, 1);
  assert.deepEqual([nonces(database), foldedUntil(database).last], [2, 2]);
  for (const first of [1, 2, 4]) assert.throws(() => fold(records, first), /is not the next one/);
  database.close();
});

test("once it has stopped it folds nothing by itself", async () => {
  const opened = open();
  const { log, folding, folds, failures } = opened;
  await log.append(nonce("a"));
  folding.soon();
  await folding.stop();
  await log.append(nonce("b"));
  folding.soon();
  await assert.rejects(folding.all(), /not folded any more/);
  await sleep(400);
  assert.deepEqual([folds, failures], [[], []]);
  await close(opened);
});
