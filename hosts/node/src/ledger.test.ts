import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DatabaseSync, StatementSync } from "node:sqlite";
import { after, mock, test } from "node:test";
import { forgetAll } from "@inference/gateway/jobs/forget";
import { auditDatabase } from "@inference/gateway/test/chaos/audit";
import { LedgerUnavailable } from "@inference/ledger/client";
import { OUTCOME_RETENTION_MS } from "@inference/ledger/limits";
import {
  accountPartition,
  ceilingPartition,
  chainPartition,
  type Partition,
  partitionAddress,
} from "@inference/ledger/partition";
import { type Admission, reserveRequest } from "@inference/ledger/reservation";
import { type Saga, send } from "@inference/ledger/saga";
import { createKey, hear } from "@inference/ledger/testing/example";
import { eventually } from "@inference/protocol/testing/eventually";
import { makeQuietGateway } from "./chaos/quiet-gateway.ts";
import { openDatabase } from "./database.ts";
import { type NodeLedger, openNodeLedger } from "./ledger.ts";
import { fillDisk } from "./testing/full-disk.ts";

const folder = mkdtempSync(join(tmpdir(), "ledger-"));
after(() => rmSync(folder, { recursive: true }));
const NOON = Date.UTC(2026, 0, 15, 12);
const owner = accountPartition(`0x${"a".repeat(40)}`);
const keyPayer = { kind: "key", digest: "digest" } as const;

type Opened = {
  database: DatabaseSync;
  ledger: NodeLedger;
  clock: { time: number };
  /** The events, in order. */
  seen: string[];
  fatal: unknown[];
  alerts: string[];
};

let files = 0;

function openLedger({ file = join(folder, `${++files}.sqlite`) }: { file?: string } = {}): Opened {
  const database = openDatabase(file, "NORMAL");
  const opened = {
    database,
    clock: { time: NOON },
    seen: [] as string[],
    fatal: [] as unknown[],
    alerts: [] as string[],
  };
  const ledger = openNodeLedger(database, {
    now: () => opened.clock.time,
    epoch: 1,
    onAlert: (message) => opened.alerts.push(message),
    onFatal: (error) => opened.fatal.push(error),
    onCommit: (stage, rows) => opened.seen.push(`${stage} ${rows > 0 ? "rows" : "nothing"}`),
  });
  return { ...opened, ledger };
}

/** As a process that ends in good order. */
async function close({ ledger, database }: Opened): Promise<void> {
  await ledger.close();
  database.close();
}

/** Opens an account with a key and more money than any test spends. */
async function openWithAccount(): Promise<Opened> {
  const opened = openLedger();
  await opened.ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000_000 }));
  await opened.ledger.run(() => bookAccount(owner, keyPayer.digest));
  await opened.ledger.flush();
  opened.seen.length = 0;
  return opened;
}

function* bookAccount(partition: Partition, digest: string): Saga<void> {
  const balanceNanoUsd = 1_000_000_000;
  const activations = [activation(partitionAddress(partition), balanceNanoUsd / 1_000)];
  yield* send(chainPartition(1), { type: "reread", at: NOON, readyFrom: 0 });
  yield* send(chainPartition(1), { type: "creditEarly", at: NOON, activations });
  yield* send(partition, hear(balanceNanoUsd, { at: NOON, replay: NOON }));
  yield* send(partition, createKey("key", { at: NOON, digest, window: "day", nonceExpiresAt: NOON }));
}

function reserve(ledger: NodeLedger, id: string, detail = "{}"): Promise<Admission> {
  const reservation = {
    id,
    at: NOON,
    owner,
    payer: keyPayer,
    amountNanoUsd: 100,
    leaseMs: 900_000,
    detail,
    chain: chainPartition(1),
  };
  return ledger.run(() => reserveRequest(reservation));
}

function settle(ledger: NodeLedger, id: string, detail = "{}"): Promise<{ status: string }> {
  return ledger.run(
    () => send(owner, { type: "settle", id, at: NOON, chargeNanoUsd: 60, lossNanoUsd: 0, detail, snapshot: "00" }),
    {
      untilDurable: true,
    },
  );
}

const spent = async (ledger: NodeLedger): Promise<[number, number]> => {
  const { settledNanoUsd, heldNanoUsd } = await ledger.read(owner, { type: "balance", at: NOON });
  return [settledNanoUsd, heldNanoUsd];
};

test("all changes of a turn are one commit, and every reply waits for it", async () => {
  const { ledger, seen, database } = await openWithAccount();
  const answers = Array.from({ length: 30 }, (_, n) =>
    reserve(ledger, `r${n}`).then(({ status }) => seen.push(status)),
  );
  await Promise.resolve();
  assert.deepEqual(seen, []);
  await Promise.all(answers);
  assert.deepEqual(seen, ["before rows", "after rows", ...answers.map(() => "reserved")]);
  await ledger.flush();
  assert.deepEqual(auditDatabase(database).problems, []);
});

test("a pair of an account that was used before reads no table", async () => {
  const opened = await openWithAccount();
  const pair = async (id: string) => {
    assert.equal((await reserve(opened.ledger, id)).status, "reserved");
    assert.equal((await settle(opened.ledger, id)).status, "settled");
  };
  await pair("r1");
  const { mock: read } = mock.method(StatementSync.prototype, "get");
  await pair("r2");
  read.restore();
  assert.equal(read.callCount(), 0);
  await close(opened);
});

test("a saga sees what those before it in the same turn have done", async () => {
  const { ledger } = await openWithAccount();
  const statuses = await Promise.all(Array.from({ length: 40 }, (_, n) => reserve(ledger, `r${n}`)));
  assert.equal(statuses.filter(({ status }) => status === "reserved").length, 32, "as many as may be in flight");
});

test("a read never tells what is not on disk", async () => {
  const { ledger, seen } = await openWithAccount();
  const reserved = reserve(ledger, "r1");
  assert.deepEqual(await spent(ledger), [0, 100]);
  assert.deepEqual(seen, ["before rows", "after rows"]);
  await reserved;
});

test("a command that changes nothing is answered without a commit", async () => {
  const { ledger, seen } = await openWithAccount();
  const reply = await ledger.run(() =>
    send(owner, { type: "release", id: "no", at: NOON, lossNanoUsd: 0, detail: "" }),
  );
  assert.equal(reply.status, "unknown");
  assert.deepEqual(seen, []);
});

test("a saga that throws is told so; what it did before stands, and is soon on disk", async () => {
  const { ledger, database } = await openWithAccount();
  const broken = ledger.run(function* () {
    yield* send(owner, { type: "consumeNonce", at: NOON, nonce: "spent", expiresAt: NOON, digest: "session" });
    throw new Error("a defect");
  });
  await assert.rejects(broken, /a defect/);
  await eventually(() => countRows(database, "nonce_row WHERE id = 'spent'") === 1);
});

function countRows(database: DatabaseSync, from: string): number {
  return Number(database.prepare(`SELECT count(*) AS count FROM ${from}`).get()?.count);
}

for (const failing of ["owner", "ceiling"]) {
  test(`a reservation that fails at the ${failing} holds nothing, and is told so`, async () => {
    const { ledger, database, clock } = await openWithAccount();
    const failingStep = failing === "owner" ? 1 : 2;
    let steps = 0;
    // Every command asks for the time once.
    Object.defineProperty(clock, "time", {
      get() {
        steps += 1;
        if (steps === failingStep) throw new Error("a defect");
        return NOON;
      },
    });
    await assert.rejects(reserve(ledger, "r1"), /a defect/);
    assert.ok(steps > failingStep, "it was undone");
    assert.deepEqual(await spent(ledger), [0, 0]);
    await ledger.flush();
    const { openHolds, problems } = auditDatabase(database);
    assert.deepEqual([openHolds, problems], [0, []]);
    assert.equal((await reserve(ledger, "r2")).status, "reserved");
  });
}

test("a commit that fails halfway is told to its whole group, ends the ledger, and leaves nothing of itself", async () => {
  const { ledger, database, fatal, alerts } = await openWithAccount();
  const group = [reserve(ledger, "r1"), reserve(ledger, "r2"), reserve(ledger, "r3")];
  // After they ran, before their commit.
  database.exec(`CREATE TRIGGER refuse BEFORE INSERT ON receipt_row WHEN NEW.id = 'r2'
    BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  for (const result of await Promise.allSettled(group)) {
    assert.ok(result.status === "rejected" && result.reason instanceof LedgerUnavailable);
  }
  assert.match(String(fatal), /refused/);
  assert.equal(ledger.writable, false);
  await assert.rejects(reserve(ledger, "r4"), LedgerUnavailable);
  await assert.rejects(settle(ledger, "r1"), LedgerUnavailable);
  assert.equal(fatal.length, 1, "told once");
  assert.deepEqual(alerts, []);
  assert.equal(countRows(database, "receipt_row"), 0);
  assert.deepEqual(await spent(ledger), [0, 0], "what is read is what is on disk");
});

test("requests that came while a commit was failing are refused with it", async () => {
  const { ledger, database, fatal } = await openWithAccount();
  database.exec("CREATE TRIGGER refuse BEFORE INSERT ON receipt_row BEGIN SELECT RAISE(ABORT, 'refused'); END");
  const first = reserve(ledger, "r1");
  // It may be refused before it is looked at.
  first.catch(() => undefined);
  // The commit is with the worker.
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  const others = [first, reserve(ledger, "r2"), settle(ledger, "r1")];
  for (const result of await Promise.allSettled(others)) {
    assert.ok(result.status === "rejected" && result.reason instanceof LedgerUnavailable);
  }
  assert.equal(fatal.length, 1);
});

const HELD = 20;

/** With holds that a full disk finds. */
async function openWithHolds(): Promise<Opened> {
  const opened = await openWithAccount();
  await Promise.all(Array.from({ length: HELD }, (_, n) => reserve(opened.ledger, `r${n}`)));
  return opened;
}

test("a full disk refuses new holds and keeps trying settles, and goes on when there is room; memory equals the disk", async () => {
  const { ledger, database, alerts, fatal } = await openWithHolds();
  const disk = fillDisk(database);
  await assert.rejects(reserve(ledger, "refused"), LedgerUnavailable);
  assert.equal(ledger.writable, false);
  await assert.rejects(reserve(ledger, "refused too"), LedgerUnavailable);
  let settled = 0;
  const settles = Array.from({ length: HELD }, (_, n) =>
    settle(ledger, `r${n}`).then(({ status }) => {
      assert.equal(status, "settled");
      settled += 1;
    }),
  );
  // The ledger tries again, and fails again.
  for (const isWritable of [true, false]) await eventually(() => ledger.writable === isWritable);
  assert.equal(settled, 0, "no settle is said to be done");
  assert.deepEqual(await spent(ledger), [0, HELD * 100], "what is read is what is on disk");
  disk.makeRoom();
  await Promise.all(settles);
  assert.deepEqual(await spent(ledger), [HELD * 60, 0]);
  assert.equal((await reserve(ledger, "again")).status, "reserved");
  assert.deepEqual(alerts, ["the disk is full: nothing new is admitted until there is room"]);
  assert.deepEqual(fatal, []);
  const books = auditDatabase(database);
  assert.deepEqual(books.problems, []);
  assert.equal(books.receipts, HELD);
  assert.equal(books.settledNanoUsd, HELD * 60);
});

test("a settle that waits for room is not taken for done by a commit that was due before the disk was full", async () => {
  const { ledger, database } = await openWithHolds();
  const disk = fillDisk(database);
  await assert.rejects(reserve(ledger, "refused"), LedgerUnavailable);
  // A turn in which the ledger may write, and the disk is still full.
  await eventually(() => ledger.writable);
  let done = false;
  const settled = settle(ledger, "r0").then(() => {
    done = true;
  });
  assert.deepEqual(await spent(ledger), [0, HELD * 100]);
  assert.equal(done, false);
  disk.makeRoom();
  await settled;
  assert.equal(auditDatabase(database).receipts, 1);
  assert.deepEqual(await spent(ledger), [60, (HELD - 1) * 100]);
});

test("a read tells what was so when it was asked, not what has come since", async () => {
  const { ledger, seen } = await openWithAccount();
  const before = ["r1", "r2"].map((id) => reserve(ledger, id));
  const asked = spent(ledger);
  const after = reserve(ledger, "r3");
  assert.deepEqual(await asked, [0, 200]);
  assert.ok(seen.includes("after rows"), "no sooner than the second was on disk");
  await Promise.all([...before, after]);
});

test("a list has what was done by then, also before it is on disk", async () => {
  const { ledger } = await openWithAccount();
  const all = ["r1", "r2", "r3"];
  for (const id of all) await reserve(ledger, id);
  const settles = all.map((id) => settle(ledger, id));
  const ids = async (afterNanoUsd: number, limit: number): Promise<string[]> =>
    (await ledger.read(owner, { type: "uses", afterNanoUsd, limit })).map(({ receipt }) => receipt);
  assert.deepEqual(await Promise.all([ids(0, 9), ids(0, 2), ids(120, 2)]), [all, ["r1", "r2"], ["r3"]]);
  await Promise.all(settles);
  assert.deepEqual(await ids(0, 9), all);
});

test("deliveries that an earlier process left are made once, at the next start", async () => {
  const file = join(folder, "left.sqlite");
  const first = openLedger({ file });
  const heard = hear(500, { at: NOON, epoch: null });
  first.database.exec(`INSERT INTO payer_row (partition, id, activated_nano_usd, ahead_nano_usd, debited_nano_usd)
    VALUES ('chain:1', '${owner.slice("account:".length)}', 500, 0, 0)`);
  first.database
    .prepare("INSERT INTO outbox_row (partition, id, target, command) VALUES ('chain:1', ?, ?, ?)")
    .run(`1:1>${owner}`, owner, JSON.stringify(heard));
  first.database.close();
  for (const expected of [1, 0]) {
    const opened = openLedger({ file });
    const { ledger, database, alerts } = opened;
    assert.equal(await ledger.recover(), expected);
    assert.equal((await ledger.read(owner, { type: "balance", at: NOON })).limitNanoUsd, 500);
    await ledger.flush();
    assert.equal(auditDatabase(database).undelivered, 0);
    assert.deepEqual(auditDatabase(database).problems, []);
    assert.deepEqual(alerts, []);
    await close(opened);
  }
});

const activation = (account: string, amountToken: number) => ({
  id: 1,
  account,
  amountToken: `${amountToken}`,
  totalActivated: `${amountToken}`,
  accountActivatedNanoUsd: amountToken * 1_000,
  block: 1,
  transaction: "0x",
});

test("a delivery that fails waits in the outbox, harms no other, and is made once it can be", async () => {
  const file = join(folder, "broken.sqlite");
  const limitOf = async ({ ledger }: Opened) => (await ledger.read(owner, { type: "balance", at: NOON })).limitNanoUsd;
  const heard = JSON.stringify(hear(500, { at: NOON, epoch: null }));
  const first = openLedger({ file });
  const insert = first.database.prepare(
    "INSERT INTO outbox_row (partition, id, target, command) VALUES ('chain:1', ?, ?, ?)",
  );
  insert.run("0", "ceiling", "{");
  insert.run("1", owner, heard);
  await close(first);

  const next = openLedger({ file });
  assert.equal(await next.ledger.recover(), 2);
  assert.equal(await limitOf(next), 500);
  await next.ledger.flush();
  assert.match(next.alerts.join(), /the delivery 0 failed, and waits/);
  assert.equal(auditDatabase(next.database).undelivered, 1);
  next.database.prepare("UPDATE outbox_row SET target = ?, command = ?").run(owner, heard);
  await close(next);

  const last = openLedger({ file });
  assert.equal(await last.ledger.recover(), 1);
  assert.equal(await limitOf(last), 500);
  await last.ledger.flush();
  assert.equal(auditDatabase(last.database).undelivered, 0);
  assert.deepEqual([...first.fatal, ...next.fatal, ...last.fatal, ...last.alerts], []);
  await close(last);
});

test("a delivery that failed is made again after a while", async () => {
  const { ledger, database, alerts } = openLedger();
  const insert = database.prepare(
    "INSERT INTO outbox_row (partition, id, target, command) VALUES ('chain:1', 'x', ?, ?)",
  );
  insert.run(owner, "{");
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    assert.equal(await ledger.recover(), 1);
    const heard = hear(500, { at: NOON, epoch: null });
    database.prepare("UPDATE outbox_row SET command = ?").run(JSON.stringify(heard));
    mock.timers.tick(600_000);
  } finally {
    mock.timers.reset();
  }
  const limit = async () => (await ledger.read(owner, { type: "balance", at: NOON })).limitNanoUsd;
  await eventually(async () => assert.equal(await limit(), 500));
  await ledger.flush();
  assert.equal(auditDatabase(database).undelivered, 0);
  assert.equal(alerts.length, 1, alerts.join());
});

test("the next process ends the holds of the last one", async () => {
  const file = join(folder, "open.sqlite");
  const first = openLedger({ file });
  await first.ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000_000 }));
  await first.ledger.run(() => bookAccount(owner, keyPayer.digest));
  await Promise.all(["r1", "r2", "r3"].map((id) => reserve(first.ledger, id)));
  await settle(first.ledger, "r2");
  await close(first);
  const { ledger, database, clock } = openLedger({ file });
  const left = ledger.holds().map(({ partition, hold }) => `${partition} ${hold.id}`);
  assert.deepEqual(left.sort(), [`${owner} r1`, `${owner} r3`]);
  assert.equal((await ledger.lapsedHolds(NOON + 900_001, 10)).length, 0, "no clock but the ledger's own ends a lease");
  clock.time = NOON + 1_000_000;
  assert.equal((await ledger.lapsedHolds(NOON + 900_000, 10)).length, 0, "their leases have not lapsed");
  assert.equal((await ledger.lapsedHolds(NOON + 900_001, 10)).length, 2);
  database.close();
});

test("ended rows are forgotten after 48 hours; open rows, young rows and receipts are not", async () => {
  const { ledger, database, clock } = await openWithAccount();
  const count = (table: string): number =>
    Number(database.prepare(`SELECT COUNT(*) AS count FROM ${table}_row`).get()?.count);
  for (let n = 0; n < 300; n++) {
    await reserve(ledger, `req_${1_000 + n}`);
    await settle(ledger, `req_${1_000 + n}`);
  }
  await reserve(ledger, "req_1500");
  const later = NOON + 20 * 3_600_000;
  clock.time = later;
  const young = {
    id: "req_2000",
    at: later,
    owner,
    payer: keyPayer,
    amountNanoUsd: 1,
    leaseMs: 1,
    detail: "",
    chain: chainPartition(1),
  };
  await ledger.run(() => reserveRequest(young));
  await ledger.run(() => send(owner, { type: "release", id: "req_2000", at: later, lossNanoUsd: 0, detail: "{}" }));
  const gateway = makeQuietGateway(ledger, clock);
  const stopped = new AbortController();

  clock.time = NOON + OUTCOME_RETENTION_MS;
  assert.equal(await forgetAll(gateway, stopped.signal), 0);
  clock.time += 1;
  // The nonce of the key.
  assert.equal(await forgetAll(gateway, stopped.signal), 1);
  await ledger.flush();
  assert.deepEqual([count("nonce"), count("receipt"), count("use")], [0, 302, 300]);
  assert.equal(await forgetAll(gateway, stopped.signal), 0);
  assert.deepEqual(auditDatabase(database).problems, []);
  assert.deepEqual(await spent(ledger), [300 * 60, 100]);
  stopped.abort();
  clock.time += OUTCOME_RETENTION_MS;
  assert.equal(await forgetAll(gateway, stopped.signal), 0, "it stops when told to");
});
