import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Audit, audit } from "./audit.ts";
import { type BookedKey, bookAccount, setCeiling, withBooks } from "./books.ts";
import {
  gatewayEnvironment,
  gatewayUrl,
  type Launched,
  launch,
  type ProviderProcess,
  startProvider,
} from "./processes.ts";
import { type Acknowledged, type Asking, keepAsking, type Life, makeRecorder, type Recorder } from "./recorder.ts";

const KILLS = process.env.DEEP === "1" ? 500 : 30;
/** Every so many lives the gateway is killed while it starts. */
const KILLED_AT_START = 7;
const SECRET = "c4".repeat(32);
/** What the ceiling leaves free at most: fewer holds than the clients want. */
const CEILING_ROOM = 40_000_000;
/** The victim's grace for orphans, a few of its sweeps, and room for a busy machine. */
const SWEPT_MS = 4_000;

/** A hold as the death of its process left it. */
type Left = { deliveredNanoUsd: number; amountNanoUsd: number };
type Receipt = { id: string; outcome: string; chargeNanoUsd: number; basis: string; upstreamId: string | null };

test(`${KILLS} kills under load: nothing acknowledged is lost, nothing doubled, no hold stays, the books balance`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  const file = join(folder, "gateway.sqlite");
  const provider = await startProvider();
  const running = new Set<{ kill(): Promise<unknown> }>([provider]);
  try {
    const keys = await withBooks(file, async (ledger) => {
      await setCeiling(ledger, CEILING_ROOM);
      return Promise.all(terms.map((term, index) => bookAccount(ledger, SECRET, index + 1, term)));
    });
    const recorder = makeRecorder();
    const left = new Map<string, Left>();
    let checked = 0;
    let recordsFrom = Date.now();
    for (let kill = 0; kill < KILLS; kill++) {
      // Of some deaths the provider's records come too late, so that only checkpoints are left.
      await configure(provider, { historyDelayMs: kill % 3 === 0 ? 3_600_000 : 0 });
      const gateway = launchVictim(file, provider, recordsFrom);
      running.add(gateway);
      if (kill % KILLED_AT_START === KILLED_AT_START - 1) await sleep(Math.random() * 700);
      else await live(gateway, keys, recorder);
      assert.equal((await gateway.kill()).signal, "SIGKILL", gateway.stderr());
      running.delete(gateway);
      assert.deepEqual(recorder.faults, []);
      const books = checkBooks(file, kill);
      checkAcknowledged(file, recorder.acknowledged.slice(checked), { dead: true });
      checked = recorder.acknowledged.length;
      recordsFrom = rememberHolds(file, left) ?? recordsFrom;
      if (kill % 3 === 2) await makeRoom(file, books);
    }

    await configure(provider, { historyDelayMs: 0 });
    const last = launchVictim(file, provider, recordsFrom);
    running.add(last);
    await last.ready;
    await sleep(SWEPT_MS);
    assert.equal((await last.kill("SIGTERM")).code, 0, last.stderr());
    running.delete(last);
    const books = checkBooks(file, KILLS);
    assert.equal(books.openHolds, 0, "a hold is still open");
    assert.equal(books.heldNanoUsd, 0);
    assert.equal(books.undelivered, 0);
    const late = checkAcknowledged(file, recorder.acknowledged, { dead: false });
    const bases = checkOrphans(file, left);
    const billed = await checkBills(file, provider);
    const refused = Object.fromEntries(recorder.refused);
    console.log(
      `${KILLS} kills: ${recorder.acknowledged.length} acknowledged answers compared (${late} streams cut off after ` +
        `their last event), ${books.receipts} receipts, ${billed} held against the provider's bill, ` +
        `${left.size} orphans ended ${JSON.stringify(bases)}, refused ${JSON.stringify(refused)}`,
    );
    assert.ok(recorder.acknowledged.length > KILLS * 10, "there was hardly any load");
    assert.ok(
      (bases.record ?? 0) > 0 && (bases.checkpoint ?? 0) > 0,
      `every way to end an orphan: ${JSON.stringify(bases)}`,
    );
    for (const code of ["key_limit_exceeded", "insufficient_balance", "ceiling_reserved"]) {
      assert.ok((recorder.refused.get(code) ?? 0) > 0, `${code} was never reached: ${JSON.stringify(refused)}`);
    }
  } finally {
    for (const process of running) await process.kill();
    rmSync(folder, { recursive: true });
  }
});

/** Six accounts with room; one whose balance, and one whose key, runs out. */
const terms = [
  ...Array.from({ length: 6 }, () => ({ balanceNanoUsd: 1_000_000_000_000 })),
  { balanceNanoUsd: 900_000 },
  { balanceNanoUsd: 1_000_000_000_000, window: "day" as const, limitNanoUsd: 900_000 },
];

function launchVictim(file: string, provider: ProviderProcess, recordsFrom: number): Launched {
  const recordUrl = `${provider.url}/billing/usage-history?pageSize=1000&startTimestamp=${recordsFrom}&id={id}`;
  const env = gatewayEnvironment({ databaseFile: file, secret: SECRET, provider, recordUrl });
  return launch({ script: "./victim.ts", env });
}

/** Load from all sides for a random while. Everybody stops with the gateway's death, which the caller brings about. */
async function live(gateway: Launched, keys: readonly BookedKey[], recorder: Recorder): Promise<void> {
  const life: Life = { url: gatewayUrl(await gateway.ready), over: false };
  const clients = keys.flatMap(({ key }, index) => [
    ...[whole, whole, stream].map((kind) => keepAsking(recorder, life, () => kind(key))),
    ...(index < 2
      ? [keepAsking(recorder, life, () => stalled(key)), keepAsking(recorder, life, () => leaver(key))]
      : []),
  ]);
  await sleep(150 + Math.random() * 700);
  life.over = true;
  const dead = gateway.kill();
  await Promise.all(clients);
  await dead;
}

const random = (least: number, most: number): number => least + Math.floor(Math.random() * (most - least + 1));
const whole = (key: string): Asking => ({
  key,
  content: `[[tokens=${random(1, 120)}]] [[delay=${random(0, 30)}]]`,
  maxTokens: 2_000,
  stream: false,
});
const stream = (key: string): Asking => ({
  key,
  content: `[[tokens=${random(5, 60)}]] [[drip=${random(0, 3)}]]`,
  maxTokens: 2_000,
  stream: true,
});
const leaver = (key: string): Asking => ({ ...stream(key), leaveAfterBytes: random(1, 6_000) });
/** Delivers 2,500 tokens, past a checkpoint, and then nothing until somebody dies. */
const stalled = (key: string): Asking => ({
  key,
  content: "[[tokens=5000]] [[fault=stall]]",
  maxTokens: 5_000,
  stream: true,
});

function checkBooks(file: string, kill: number): Audit {
  const books = audit(file);
  assert.deepEqual(books.problems, [], `after kill ${kill}`);
  assert.ok(books.settledNanoUsd + books.heldNanoUsd <= books.creditedNanoUsd);
  return books;
}

/**
 * Every acknowledged answer has a receipt with exactly its charge. A stream's last event may leave a moment before its
 * settlement is durable: if death came in between, the sweeper charges at most what the client was told. Answers how
 * many those are.
 */
function checkAcknowledged(file: string, answers: readonly Acknowledged[], { dead }: { dead: boolean }): number {
  let late = 0;
  const receipts = readReceipts(file);
  const ids = new Set<string>();
  for (const { id, kind, costNanoUsd } of answers) {
    assert.ok(!ids.has(id), `${id} was given to two requests`);
    ids.add(id);
    const receipt = receipts.get(id);
    if (receipt?.chargeNanoUsd === costNanoUsd && receipt.outcome === "settled") continue;
    const told = `${kind} ${id} was told ${costNanoUsd}, and its receipt says ${JSON.stringify(receipt)}`;
    assert.equal(kind, "stream", told);
    late += 1;
    if (dead) assert.equal(receipt, undefined, told);
    else assert.ok(receipt !== undefined && receipt.chargeNanoUsd <= costNanoUsd && receipt.basis !== "usage", told);
  }
  return late;
}

/**
 * Every orphan has ended: with the provider's record (held against its bill below), else with exactly what its
 * checkpoint proves, the prompt's bound included, never above its hold. Answers on what grounds, for those that were
 * charged.
 */
function checkOrphans(file: string, left: ReadonlyMap<string, Left>): Record<string, number> {
  const receipts = readReceipts(file);
  const bases: Record<string, number> = {};
  for (const [id, { deliveredNanoUsd, amountNanoUsd }] of left) {
    const receipt = receipts.get(id);
    assert.ok(receipt !== undefined, `the orphan ${id} has no receipt`);
    const { chargeNanoUsd, basis } = receipt;
    assert.ok(chargeNanoUsd <= amountNanoUsd, JSON.stringify({ id, receipt }));
    assert.ok(["record", "checkpoint"].includes(basis), JSON.stringify({ id, receipt }));
    if (basis === "checkpoint") assert.equal(chargeNanoUsd, deliveredNanoUsd, id);
    if (chargeNanoUsd > 0) bases[basis] = (bases[basis] ?? 0) + 1;
  }
  return bases;
}

/** What was charged by the provider's word, in the answer or in its record, is its bill. Answers how many. */
async function checkBills(file: string, provider: ProviderProcess): Promise<number> {
  const response = await fetch(`${provider.controlUrl}/requests?limit=200000`);
  const { data } = (await response.json()) as {
    data: { requestId: string | null; billed: { nanoUsd: string } | null }[];
  };
  const bills = new Map(data.map(({ requestId, billed }) => [requestId, Number(billed?.nanoUsd ?? 0)]));
  let compared = 0;
  for (const { id, basis, upstreamId, chargeNanoUsd } of readReceipts(file).values()) {
    if (basis !== "usage" && basis !== "record") continue;
    assert.equal(chargeNanoUsd, bills.get(upstreamId), `${id} (${basis}) and the provider's bill`);
    compared += 1;
  }
  return compared;
}

function readReceipts(file: string): Map<string, Receipt> {
  const rows = query(file, "SELECT id, outcome, charge_nano_usd, detail FROM receipt_row");
  return new Map(
    rows.map(({ id, outcome, charge_nano_usd, detail }) => {
      const { basis = "", upstreamId = null } = JSON.parse(String(detail)) as Partial<Receipt>;
      return [
        String(id),
        { id: String(id), outcome: String(outcome), chargeNanoUsd: Number(charge_nano_usd), basis, upstreamId },
      ];
    }),
  );
}

/** Notes what is open now. Answers the time of the oldest of it. */
function rememberHolds(file: string, left: Map<string, Left>): number | undefined {
  const rows = query(
    file,
    `SELECT id, delivered_nano_usd, amount_nano_usd, admitted_at FROM hold_row
     WHERE owner = partition AND state IN ('open', 'orphaned') ORDER BY admitted_at`,
  );
  for (const row of rows) {
    left.set(String(row.id), {
      deliveredNanoUsd: Number(row.delivered_nano_usd),
      amountNanoUsd: Number(row.amount_nano_usd),
    });
  }
  return rows[0] === undefined ? undefined : Number(rows[0].admitted_at);
}

function query(file: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** Raises the ceiling to what is spent and a little more, so that it binds again and again. */
async function makeRoom(file: string, { settledNanoUsd, heldNanoUsd }: Audit): Promise<void> {
  await withBooks(file, (ledger) => setCeiling(ledger, settledNanoUsd + heldNanoUsd + CEILING_ROOM));
}

async function configure(provider: ProviderProcess, settings: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${provider.controlUrl}/config`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(settings),
  });
  assert.equal(response.status, 200, await response.text());
}
