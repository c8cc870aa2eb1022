import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { auditDatabase } from "@inference/gateway/test/chaos/audit";
import { activate, CHAIN_ID } from "@inference/gateway/test/fund";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import { createKey } from "@inference/ledger/testing/example";
import { backUpLedger } from "./backup.ts";
import { openDatabase } from "./database.ts";
import { type NodeLedger, openNodeLedger } from "./ledger.ts";

const folder = mkdtempSync(join(tmpdir(), "backup-"));
after(() => rmSync(folder, { recursive: true }));
const address = `0x${"a".repeat(40)}` as const;
const owner = accountPartition(address);
const chain = chainPartition(CHAIN_ID);
const payer = { kind: "key", digest: "digest" } as const;
let files = 0;

function open(file = join(folder, `${++files}.sqlite`)) {
  const database = openDatabase(file, "NORMAL");
  const fail = (error: unknown) => assert.fail(String(error));
  const ledger = openNodeLedger(database, { now: Date.now, epoch: 1, onAlert: fail, onFatal: fail });
  const close = async (): Promise<void> => {
    await ledger.close();
    database.close();
  };
  return { file, database, ledger, close };
}

async function openWithAccount() {
  const opened = open();
  const at = Date.now();
  await opened.ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000_000 }));
  await activate((partition, command) => opened.ledger.run(() => send(partition, command)), address, 1_000_000_000);
  await opened.ledger.run(() => send(owner, createKey("key", { at, digest: payer.digest, nonceExpiresAt: at })));
  return opened;
}

let requests = 0;

async function pair(ledger: NodeLedger): Promise<void> {
  const at = Date.now();
  const id = `r${String(++requests).padStart(6, "0")}`;
  const reservation = { id, at, owner, payer, amountNanoUsd: 100, leaseMs: 900_000, detail: "{}", chain };
  assert.equal((await ledger.run(() => reserveRequest(reservation))).status, "reserved");
  const command = { type: "settle", id, at, chargeNanoUsd: 60, lossNanoUsd: 0, detail: "{}", snapshot: "00" } as const;
  await ledger.run(() => send(owner, command), { untilDurable: true });
}

/** As the command does, in a process of its own. */
async function backUp(file: string, to: string): Promise<void> {
  const script = `import { backUpLedger } from ${JSON.stringify(import.meta.resolve("./backup.ts"))};
    process.stdout.write(String(backUpLedger(${JSON.stringify(file)}, ${JSON.stringify(to)}).bytes));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  assert.match(stdout, /^\d+$/);
}

/** The receipts that a gateway finds in this file. */
async function receiptsOf(file: string): Promise<number> {
  const opened = open(file);
  const { problems, receipts } = auditDatabase(opened.database);
  assert.deepEqual(problems, []);
  await opened.close();
  return receipts;
}

test("a backup of a ledger that is being written is a whole ledger, with all that was answered before it", async () => {
  const { file, ledger, close } = await openWithAccount();
  for (let n = 0; n < 20; n++) await pair(ledger);
  await ledger.flush();
  let isOver = false;
  const writing = Array.from({ length: 8 }, async () => {
    while (!isOver) await pair(ledger);
  });
  const copies = [1, 2, 3].map((n) => join(folder, `copy-${n}.sqlite`));
  for (const copy of copies) await backUp(file, copy);
  isOver = true;
  await Promise.all(writing);
  await close();
  const found = await Promise.all(copies.map(receiptsOf));
  assert.ok(Math.min(...found) >= 20, found.join());
});

test("a backup takes the place of a database whose process was killed, with the WAL moved away as the guide says", async () => {
  const { file, ledger, close } = await openWithAccount();
  await pair(ledger);
  const copy = join(folder, "before.sqlite");
  await backUp(file, copy);
  await pair(ledger);
  const left = join(folder, "left.sqlite");
  for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${left}${end}`);
  await close();
  assert.ok(statSync(`${left}-wal`).size > 0);
  rmSync(`${left}-wal`);
  copyFileSync(copy, left);
  assert.equal(await receiptsOf(left), 1);
});

test("a backup never replaces a file, and needs a ledger", async () => {
  const taken = join(folder, "taken");
  writeFileSync(taken, "mine");
  const { file, close } = await openWithAccount();
  assert.throws(() => backUpLedger(file, taken), /exists already. Name a new file/);
  assert.throws(() => backUpLedger(join(folder, "none"), join(folder, "copy")), /There is no database .+DATABASE_FILE/);
  await close();
});
