import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "@inference/protocol/testing/seed";
import { configure } from "@inference/provider-simulator/control";
import { type ProviderSimulator, startProviderSimulator } from "@inference/provider-simulator/server";
import type { TestAccount } from "../fund.ts";
import { billed } from "../settlement/audit.ts";
import { type Audit, auditDatabase } from "./audit.ts";
import { type Books, bookAccount } from "./books.ts";
import { makeDeliveries } from "./deliveries.ts";
import { type EmptyChain, startEmptyChain } from "./empty-chain.ts";
import { type Acknowledged, type Asking, keepAsking, type Life, makeRecorder, type Recorder } from "./recorder.ts";

/** A gateway on a host that is killed many times, and its database. Only one of it runs at a time. */
export type MortalHost = {
  /** Starts it over what the last one left, without waiting for it. */
  launch(settings: Settings): Mortal;
  /** Writes into the database of a dead gateway. */
  withBooks<T>(settings: Settings, work: (books: Books) => Promise<T>): Promise<T>;
  /** The files of a dead gateway, as one database. */
  readBooks(): DatabaseSync;
  /** The kinds of answers that are sent before their charge is durable. */
  chargedLater: readonly Acknowledged["kind"][];
  close(): void;
};
export type Mortal = {
  /** The gateway's URL, once it listens and the holds of the last life are its own. */
  url: Promise<string>;
  said(): string;
  /** Answers whether it still ran. */
  kill(): Promise<boolean>;
};
export type Settings = Readonly<Record<string, string>>;
/** The parts that outlive a gateway. */
type World = { host: MortalHost; provider: ProviderSimulator; chain: EmptyChain };

const DEEP = process.env.DEEP === "1";
const DEEP_KILLS = 500;
/** Counted from the first answers, because a busy machine takes a while to begin. */
const LIFE_MS = 800;
const UNDER_WAY_MS = 20_000;
/** A stream with this many bytes is past 2,000 tokens. */
const CHECKPOINTED_BYTES = 480_000;
const SECRET = "c4".repeat(32);
const MASTER_KEY = "provider-master-key";
/** The most that the ceiling leaves free: fewer holds than the clients want. */
const CEILING_ROOM = 40_000_000;
/** From the end of a lease to the end of its hold at most. */
const SWEPT_MS = 60_000;
/** The time until every partition knows the end of a hold: a failed delivery is repeated after 2 s. */
const DELIVERED_MS = 4_000;

/** Six accounts with room; one whose balance, and one whose key, runs out. */
const terms = [
  ...Array.from({ length: 6 }, () => ({ balanceNanoUsd: 1_000_000_000_000 })),
  { balanceNanoUsd: 900_000 },
  { balanceNanoUsd: 1_000_000_000_000, window: "day" as const, limitNanoUsd: 900_000 },
];

/** A hold as the death of its process left it. */
type Left = { deliveredNanoUsd: number; heldNanoUsd: number };
type Receipt = { id: string; state: string; chargeNanoUsd: number; basis: string; upstreamId: string | null };

/**
 * @param kills Of `npm test`: the first dies under all kinds of load, the second amid long streams, the third at its
 * start.
 */
export function testKills(openHost: () => MortalHost, kills: number): void {
  const times = DEEP ? DEEP_KILLS : kills;
  test(`${times} kills under load: nothing acknowledged is lost, nothing doubled, no hold stays, the books balance`, async () => {
    // All live longer than any gateway does.
    const host = openHost();
    const provider = await startProviderSimulator({
      masterKey: MASTER_KEY,
      adminKey: MASTER_KEY,
      record: "light",
      errorBudget: null,
    });
    const chain = await startEmptyChain(CEILING_ROOM);
    const living = new Set<Mortal>();
    try {
      await killAgainAndAgain({ host, provider, chain }, living, times);
    } finally {
      for (const gateway of living) await gateway.kill();
      await provider.close();
      chain.close();
      host.close();
    }
  });
}

async function killAgainAndAgain(world: World, living: Set<Mortal>, kills: number): Promise<void> {
  const { host, provider, chain } = world;
  let settings = settingsFor(world, Date.now());
  const launch = (): Mortal => {
    const gateway = host.launch(settings);
    living.add(gateway);
    return gateway;
  };
  const keys = await host.withBooks(settings, (books) =>
    Promise.all(terms.map((term, index) => bookAccount(books, SECRET, index + 1, term))),
  );
  const recorder = makeRecorder();
  const left = new Map<string, Left>();
  let checked = 0;
  let loaded = 0;
  for (let kill = 0; kill < kills; kill++) {
    // The provider's records come too late in two lives of four. Only checkpoints then show the killed requests.
    configure(provider.simulator, { historyDelayMs: kill % 4 < 2 ? 3_600_000 : 0 });
    const gateway = launch();
    if (kill % 7 === 2) await sleep(chance() * 700);
    else if (kill % 4 === 1) await live(gateway, recorder, longStreams(keys));
    else {
      loaded += 1;
      await live(gateway, recorder, everything(keys));
    }
    assert.ok(await gateway.kill(), `it died by itself: ${gateway.said()}`);
    living.delete(gateway);
    assert.deepEqual(recorder.faults, []);
    const database = host.readBooks();
    makeDeliveries(database);
    const books = checkBooks(database, kill);
    checkAcknowledged(database, recorder.acknowledged.slice(checked), { dead: true, ...host });
    checked = recorder.acknowledged.length;
    const oldest = rememberHolds(database, left);
    database.close();
    if (oldest !== undefined) settings = settingsFor(world, oldest);
    if (kill % 3 === 2) makeRoom(chain, books);
  }

  configure(provider.simulator, { historyDelayMs: 0 });
  const last = launch();
  const sweptMs = await nothingHeld(await last.url, keys);
  await sleep(DELIVERED_MS);
  assert.ok(await last.kill(), last.said());
  living.delete(last);
  const database = host.readBooks();
  const books = checkBooks(database, kills);
  assert.equal(books.openHolds, 0, "a hold is still open");
  assert.equal(books.heldNanoUsd, 0);
  assert.equal(books.undelivered, 0);
  const late = checkAcknowledged(database, recorder.acknowledged, { dead: false, ...host });
  const bases = checkOrphans(database, left);
  const compared = checkBills(database, provider);
  database.close();
  const refused = Object.fromEntries(recorder.refused);
  console.log(
    `${kills} kills: ${recorder.acknowledged.length} acknowledged answers compared (${late} streams cut off after ` +
      `their last event), ${books.receipts} receipts, ${compared} held against the provider's bill, ` +
      `${left.size} orphans ended ${JSON.stringify(bases)}, the last of them in ${Math.round(sweptMs)} ms, ` +
      `refused ${JSON.stringify(refused)}`,
  );
  assert.ok(recorder.acknowledged.length > loaded * 5, "there was hardly any load");
  // A few kills reach each of these by chance.
  if (!DEEP) return;
  assert.ok(
    (bases.record ?? 0) > 0 && (bases.checkpoint ?? 0) > 0,
    `every way to end an orphan: ${JSON.stringify(bases)}`,
  );
  // An allowance that stays for the day sells out: the ceiling then refuses as reached, and not as reserved.
  const limits = [["key_limit_exceeded"], ["insufficient_balance"], ["ceiling_reserved", "daily_cap_reached"]];
  for (const codes of limits) {
    assert.ok(
      codes.some((code) => (recorder.refused.get(code) ?? 0) > 0),
      `${codes.join(" or ")} was never reached: ${JSON.stringify(refused)}`,
    );
  }
}

/** @param recordsFrom The provider is asked for what it has recorded since. */
function settingsFor({ provider, chain }: World, recordsFrom: number): Settings {
  return {
    GATEWAY_SECRET: SECRET,
    UPSTREAM_BASE_URL: provider.url,
    UPSTREAM_API_KEY: MASTER_KEY,
    UPSTREAM_FAILURES: "0",
    UPSTREAM_CHAT_EXTRAS: '{"venice_parameters":{"include_venice_system_prompt":false}}',
    UPSTREAM_RECORD_URL: `${provider.url}/billing/usage-history?pageSize=1000&startTimestamp=${recordsFrom}&id={id}`,
    PRIMARY_RPC_URL: chain.rpcUrl,
    PRIMARY_CHAIN_ID: "31337",
    SETTLEMENT_ADDRESS: `0x${"5".repeat(40)}`,
  };
}

/** The accounts that send requests, and the recorded answers of their clients. */
type Load = { clients: readonly (() => Asking)[]; seen(recorder: Recorder): number; enough: number };

/** From all sides. */
function everything(keys: readonly TestAccount[]): Load {
  return {
    clients: keys.flatMap(({ key }, index) => {
      const all = [whole, whole, stream, ...(index < 2 ? [stalled, leaver] : [])];
      return all.map((kind) => () => kind(key));
    }),
    seen: ({ acknowledged }) => acknowledged.length,
    enough: 10,
  };
}

/** Two long streams with nobody beside them, until they are past a checkpoint. */
function longStreams(keys: readonly TestAccount[]): Load {
  return {
    clients: keys.slice(0, 2).map(
      ({ key }) =>
        () =>
          stalled(key),
    ),
    seen: ({ streamedBytes }) => streamedBytes,
    enough: 2 * CHECKPOINTED_BYTES,
  };
}

/** Load for a random while. Everybody stops with the gateway's death, which this brings about. */
async function live(gateway: Mortal, recorder: Recorder, { clients, seen, enough }: Load): Promise<void> {
  const life: Life = { url: await gateway.url, over: false };
  const before = seen(recorder);
  const asking = clients.map((next) => keepAsking(recorder, life, next));
  const until = performance.now() + UNDER_WAY_MS;
  while (seen(recorder) < before + enough && performance.now() < until) await sleep(10);
  await sleep(chance() * LIFE_MS);
  life.over = true;
  const dead = gateway.kill();
  await Promise.all(asking);
  assert.ok(await dead, `it died by itself: ${gateway.said()}`);
}

const chance = seededRandom();
const random = (least: number, most: number): number => least + Math.floor(chance() * (most - least + 1));
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

function checkBooks(database: DatabaseSync, kill: number): Audit {
  const books = auditDatabase(database);
  assert.deepEqual(books.problems, [], `after kill ${kill}`);
  assert.ok(books.settledNanoUsd + books.heldNanoUsd <= books.creditedNanoUsd);
  return books;
}

/**
 * Every acknowledged answer has a receipt with exactly its charge. An answer that is charged later may leave a moment
 * before its settlement is durable: if death came in between, the sweeper charges at most what the client was told. Answers how
 * many those are.
 */
function checkAcknowledged(
  database: DatabaseSync,
  answers: readonly Acknowledged[],
  { dead, chargedLater }: { dead: boolean } & Pick<MortalHost, "chargedLater">,
): number {
  let late = 0;
  const receipts = readReceipts(database);
  const ids = new Set<string>();
  for (const { id, kind, costNanoUsd } of answers) {
    assert.ok(!ids.has(id), `${id} was given to two requests`);
    ids.add(id);
    const receipt = receipts.get(id);
    if (receipt?.chargeNanoUsd === costNanoUsd && receipt.state === "settled") continue;
    const told = `${kind} ${id} was told ${costNanoUsd}, and its receipt says ${JSON.stringify(receipt)}`;
    assert.ok(chargedLater.includes(kind), told);
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
function checkOrphans(database: DatabaseSync, left: ReadonlyMap<string, Left>): Record<string, number> {
  const receipts = readReceipts(database);
  const bases: Record<string, number> = {};
  for (const [id, { deliveredNanoUsd, heldNanoUsd }] of left) {
    const receipt = receipts.get(id);
    assert.ok(receipt !== undefined, `the orphan ${id} has no receipt`);
    const { chargeNanoUsd, basis } = receipt;
    assert.ok(chargeNanoUsd <= heldNanoUsd, JSON.stringify({ id, receipt }));
    assert.ok(["record", "checkpoint"].includes(basis), JSON.stringify({ id, receipt }));
    if (basis === "checkpoint") assert.equal(chargeNanoUsd, deliveredNanoUsd, id);
    if (chargeNanoUsd > 0) bases[basis] = (bases[basis] ?? 0) + 1;
  }
  return bases;
}

/**
 * A charge by the provider's usage, from the answer or from its record, equals the provider's bill. Answers how many.
 */
function checkBills(database: DatabaseSync, provider: ProviderSimulator): number {
  const bills = new Map(provider.simulator.records.select(() => true, 200_000).map((it) => [it.requestId, billed(it)]));
  let compared = 0;
  for (const { id, basis, upstreamId, chargeNanoUsd } of readReceipts(database).values()) {
    if (basis !== "usage" && basis !== "record") continue;
    assert.equal(chargeNanoUsd, bills.get(upstreamId), `${id} (${basis}) and the provider's bill`);
    compared += 1;
  }
  return compared;
}

function readReceipts(database: DatabaseSync): Map<string, Receipt> {
  const rows = database
    .prepare(
      "SELECT id, state, charge_nano_usd, detail FROM receipt_row WHERE resolved_at IS NOT NULL AND detail <> ''",
    )
    .all();
  return new Map(
    rows.map(({ id, state, charge_nano_usd, detail }) => {
      const { basis = "", upstreamId = null } = JSON.parse(String(detail)) as Partial<Receipt>;
      return [
        String(id),
        { id: String(id), state: String(state), chargeNanoUsd: Number(charge_nano_usd), basis, upstreamId },
      ];
    }),
  );
}

/** Notes what is open now. Answers the time of the oldest of it. */
function rememberHolds(database: DatabaseSync, left: Map<string, Left>): number | undefined {
  const rows = database
    .prepare(
      `SELECT id, delivered_nano_usd, held_nano_usd, admitted_at FROM receipt_row
       WHERE state IN ('open', 'orphaned') ORDER BY admitted_at`,
    )
    .all();
  for (const row of rows) {
    left.set(String(row.id), {
      deliveredNanoUsd: Number(row.delivered_nano_usd),
      heldNanoUsd: Number(row.held_nano_usd),
    });
  }
  return rows[0] === undefined ? undefined : Number(rows[0].admitted_at);
}

/** Waits until nothing is held of any of these keys. Answers how long that took. */
async function nothingHeld(url: string, keys: readonly TestAccount[]): Promise<number> {
  const from = performance.now();
  for (const { key } of keys) {
    for (;;) {
      const response = await fetch(`${url}/api/v1/credits`, { headers: { authorization: `Bearer ${key}` } });
      const { data } = (await response.json()) as { data: { reserved_nano_usd: number } };
      if (data.reserved_nano_usd === 0) break;
      assert.ok(performance.now() - from < SWEPT_MS, "what the last death left is still held");
      await sleep(50);
    }
  }
  return performance.now() - from;
}

/** Raises the ceiling to what is spent and a little more, so that it binds again and again. */
function makeRoom(chain: EmptyChain, { settledNanoUsd, heldNanoUsd }: Audit): void {
  chain.setCeiling(settledNanoUsd + heldNanoUsd + CEILING_ROOM);
}
