import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@inference/protocol/testing/eventually";
import { openDatabase } from "./database.ts";
import { type EncodedRows, encodeRow } from "./encoded-rows.ts";
import { type Folding, foldInBetween } from "./fold-in-between.ts";
import { openRowLog, type RowLog } from "./row-log.ts";

const folder = mkdtempSync(join(tmpdir(), "fold-in-between-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

type Opened = { database: DatabaseSync; log: RowLog; folding: Folding; folds: number[]; failures: unknown[] };

function open(): Opened {
  const database = openDatabase(join(folder, `${++files}.sqlite`), "NORMAL");
  const log = openRowLog(database);
  const folds: number[] = [];
  const failures: unknown[] = [];
  const folding = foldInBetween(log, {
    onFolded: (number) => folds.push(number),
    onFailed: (error) => failures.push(error),
  });
  return { database, log, folding, folds, failures };
}

function nonce(id: string): EncodedRows {
  const rows: EncodedRows = [];
  const row = { id, expiresAt: 1, digest: null };
  encodeRow(rows, { partition: "account:a", table: "nonce", id, stored: undefined, row });
  return rows;
}

const nonces = (database: DatabaseSync): number =>
  Number(database.prepare("SELECT COUNT(*) AS count FROM nonce_row").get()?.count);

test("light steady traffic is folded while it lasts, so what is not yet in its tables stays bounded", async () => {
  const { database, log, folding, folds } = open();
  let mostUnfolded = 0;
  const until = performance.now() + 2_000;
  for (let n = 0; performance.now() < until; n++) {
    folding.keepUp();
    log.append(nonce(`n${n}`));
    folding.soon();
    mostUnfolded = Math.max(mostUnfolded, log.last - log.folded);
    await sleep(2);
  }
  assert.ok(folds.length >= 3, `${folds.length} folds in 2 s`);
  assert.ok(mostUnfolded <= 500, `${mostUnfolded} commits were in the log and not in their tables`);
  await folding.all();
  assert.equal(nonces(database), log.last);
  database.close();
});

test("a fold that fails is told, and a full disk is tried again", async () => {
  const { database, log, folding, failures } = open();
  const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
  log.append(nonce("x".repeat(100_000)));
  database.exec(`PRAGMA max_page_count = ${pages}`);
  await assert.rejects(folding.all(), /full/);
  folding.soon();
  await sleep(600);
  assert.deepEqual([nonces(database), failures], [0, []]);
  database.exec("PRAGMA max_page_count = 100000");
  await eventually(() => assert.equal(nonces(database), 1), 5_000);
  database.exec("CREATE TRIGGER refuse BEFORE INSERT ON nonce_row BEGIN SELECT RAISE(ABORT, 'refused'); END");
  log.append(nonce("refused"));
  folding.soon();
  await eventually(() => assert.match(String(failures), /refused/), 5_000);
  database.close();
});

test("once it has stopped it folds nothing by itself", async () => {
  const { database, log, folding, folds, failures } = open();
  log.append(nonce("a"));
  folding.soon();
  folding.stop();
  log.append(nonce("b"));
  folding.soon();
  database.close();
  await sleep(400);
  assert.deepEqual([folds, failures], [[], []]);
});
