import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { TestAccount } from "@inference/gateway/test/fund";
import { tableNames } from "@inference/ledger/schema";
import { eventually } from "@inference/protocol/testing/eventually";
import { openDatabase } from "../database.ts";
import { type NodeLedger, openNodeLedger } from "../ledger.ts";
import { withSite } from "../testing/site.ts";
import { auditBooks } from "./books.ts";
import { askFor, gatewayUrl, launch, nothingHeld, type Running } from "./processes.ts";
import { runScript, steps } from "./script.ts";
import type { CrashPoint } from "./victim.ts";

const stages = ["before", "after"] as const;

test("a death right before or after any commit leaves the whole commit or nothing, and the rest can be repeated", async () => {
  const folder = mkdtempSync(join(tmpdir(), "crash-"));
  try {
    const reference = await runReference(join(folder, "reference.sqlite"));
    const commits = reference.states.length - 1;
    assert.ok(commits >= steps.length, `${commits} commits for ${steps.length} steps`);
    let deaths = 0;
    for (let commit = 1; commit <= commits; commit += 1) {
      deaths += stages.length;
      await Promise.all(
        stages.map((stage) => crashAt({ stage, commit }, join(folder, `${commit}-${stage}`), reference)),
      );
    }
    console.log(`${steps.length} steps, ${commits} commits, ${deaths} deaths`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The file's contents after each commit, and the number of commits at each step's answer. */
type Reference = { states: string[]; answeredAfter: number[] };

async function runReference(file: string): Promise<Reference> {
  const database = openDatabase(file);
  const states = [dump(database)];
  const answeredAfter: number[] = [];
  const clock = { time: 0 };
  const ledger = openLedger(database, clock, (stage) => {
    if (stage === "after") states.push(stateOf(file));
  });
  await runScript(ledger, clock, 0, () => answeredAfter.push(states.length - 1));
  await ledger.close();
  database.close();
  assert.deepEqual(auditBooks(file).problems, []);
  assert.equal(new Set(states).size, states.length, "a commit that changes nothing");
  return { states, answeredAfter };
}

async function crashAt({ stage, commit }: CrashPoint, file: string, reference: Reference): Promise<void> {
  const { states, answeredAfter } = reference;
  const where = `${stage} commit ${commit}`;
  const victim = launch({ script: "./script-victim.ts", args: [file, stage, String(commit)] });
  assert.equal((await victim.ended).signal, "SIGKILL", `${where}: ${victim.stderr()}`);
  const heard = victim.stdout().split("\n").filter(Boolean).length;
  assert.equal(heard, answeredAfter.filter((count) => count < commit).length, `${where}: who was answered`);

  assert.deepEqual(auditBooks(file).problems, [], where);

  const database = openDatabase(file);
  try {
    assert.equal(dump(database), states[stage === "before" ? commit - 1 : commit], `${where}: what is on disk`);
    // A client without an answer repeats its step, and the ledger ends as without a death.
    const clock = { time: 0 };
    const ledger = openLedger(database, clock, () => undefined);
    assert.equal(await ledger.recover(), 0, `${where}: deliveries share their cause's commit`);
    await runScript(ledger, clock, heard, () => undefined);
    await ledger.close();
    assert.equal(dump(database), states.at(-1), `${where}: after doing the rest`);
  } finally {
    database.close();
  }
}

function openLedger(
  database: DatabaseSync,
  clock: { time: number },
  onCommit: (stage: "before" | "after") => void,
): NodeLedger {
  return openNodeLedger(database, {
    now: () => clock.time,
    epoch: 1,
    onAlert: (message) => assert.fail(message),
    onFatal: (error) => assert.fail(String(error)),
    onCommit,
  });
}

/** The state that a later process would find in the file. */
function stateOf(file: string): string {
  const copy = `${file}-copy`;
  for (const end of ["", "-wal"]) copyFileSync(file + end, copy + end);
  const database = openDatabase(copy);
  try {
    return dump(database);
  } finally {
    database.close();
  }
}

function dump(database: DatabaseSync): string {
  const tables = tableNames.map((table) => [
    table,
    database.prepare(`SELECT * FROM ${table}_row ORDER BY partition, id`).all(),
  ]);
  return JSON.stringify(tables, null, 1);
}

/** A named request by one account of its own, cut off at one side of one of its commits, and sent again until it ends. */
type Cut = CrashPoint & { stream: boolean; commitIs: "reserve" | "checkpoint" | "settle" } & {
  ends: "served anew" | "replayed" | "known as paid";
};

const cuts: readonly Cut[] = [
  // An answer's name is kept with its charge.
  { stage: "after", stream: false, commit: 2, commitIs: "settle", ends: "replayed" },
  { stage: "after", stream: true, commit: 2, commitIs: "checkpoint", ends: "served anew" },
  { stage: "after", stream: true, commit: 3, commitIs: "settle", ends: "known as paid" },
  { stage: "before", stream: false, commit: 2, commitIs: "settle", ends: "served anew" },
  { stage: "before", stream: false, commit: 1, commitIs: "reserve", ends: "served anew" },
  { stage: "after", stream: false, commit: 1, commitIs: "reserve", ends: "served anew" },
  { stage: "before", stream: true, commit: 1, commitIs: "reserve", ends: "served anew" },
  { stage: "after", stream: true, commit: 1, commitIs: "reserve", ends: "served anew" },
  { stage: "before", stream: true, commit: 2, commitIs: "checkpoint", ends: "served anew" },
  { stage: "before", stream: true, commit: 3, commitIs: "settle", ends: "served anew" },
];
test("a gateway that dies at one side of any commit of a request has told its client only durable facts, and the request is paid once", () =>
  withSite(async ({ file, provider, env, accounts, start }) => {
    const keys = await accounts(cuts.length, 1_000_000);
    let gateway = await start({ script: "./victim.ts", env });
    for (const [index, cut] of cuts.entries()) {
      const where = JSON.stringify(cut);
      const key = keys[index] ?? assert.fail();
      const billedBefore = provider.simulator.ledger.totals.requests;
      gateway.child.send({ stage: cut.stage, commit: cut.commit } satisfies CrashPoint);
      await new Promise((resolve) => gateway.child.once("message", resolve));
      const heard = await hear(gateway, key, cut.stream);
      assert.equal((await gateway.ended).signal, "SIGKILL", gateway.stderr());
      checkCut(file, cut, key, heard, provider.simulator.ledger.totals.requests - billedBefore);
      gateway = await start({ script: "./victim.ts", env });
      checkEnd(cut, await postUntilAnswered(gateway, key, cut.stream), where);
      // The last commit of one cut is not to be counted as the next one's.
      await nothingHeld(gateway, [key]);
    }
    assert.equal((await gateway.kill("SIGTERM")).code, 0, gateway.stderr());
    const { problems, openHolds } = auditBooks(file);
    assert.deepEqual([problems, openHolds], [[], 0]);
    for (const [index, cut] of cuts.entries()) {
      const charges = receiptsOf(file, keys[index]).filter(({ charge_nano_usd: charge }) => Number(charge) > 0);
      assert.equal(charges.length, 1, JSON.stringify(cut));
    }
  }));

function post(gateway: Running, { key }: TestAccount, stream: boolean): Promise<Response> {
  const headers = { "idempotency-key": "once" };
  return askFor(gatewayUrl(gateway.ready), key, { stream, maxTokens: 100, headers });
}

/** Reads until the connection breaks. */
async function hear(gateway: Running, key: TestAccount, stream: boolean): Promise<{ bytes: number; whole: boolean }> {
  let bytes = 0;
  try {
    const response = await post(gateway, key, stream);
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return { bytes, whole: true };
  } catch {
    return { bytes, whole: false };
  }
}

type Said = { status: number; isReplayed: boolean; text: string };

/** Repeats the request like a client that is told to wait a second, only sooner. */
function postUntilAnswered(gateway: Running, key: TestAccount, stream: boolean): Promise<Said> {
  return eventually(async () => {
    const response = await post(gateway, key, stream);
    const text = await response.text();
    if (text.includes('"code":"idempotency_in_progress"')) return false;
    return { status: response.status, isReplayed: response.headers.get("idempotent-replayed") === "true", text };
  });
}

function checkEnd({ ends, stream }: Cut, { status, isReplayed, text }: Said, where: string): void {
  if (ends === "known as paid") {
    assert.equal(status, 409, where);
    assert.match(text, /"code":"idempotency_completed".*"request_id":"req_/, where);
    return;
  }
  assert.deepEqual([status, isReplayed], [200, ends === "replayed"], `${where} ${text}`);
  assert.match(text, stream ? /data: \[DONE\]/ : /"usage":/, where);
}

function checkCut(
  file: string,
  cut: Cut,
  key: TestAccount,
  heard: { bytes: number; whole: boolean },
  billed: number,
): void {
  const where = JSON.stringify(cut);
  const books = auditBooks(file);
  assert.deepEqual(books.problems, [], where);
  const isDurable = cut.stage === "after";
  const isSettled = cut.commitIs === "settle" && isDurable;
  const isHeld = !isSettled && (isDurable || cut.commitIs !== "reserve");
  assert.equal(books.openHolds, isHeld ? 1 : 0, where);
  const ended = receiptsOf(file, key).filter(({ resolved_at }) => resolved_at !== null);
  assert.equal(ended.length, isSettled ? 1 : 0, where);
  // Nothing is answered before what it rests on is durable: a whole answer on its charge, a stream on its checkpoint.
  if (!cut.stream || cut.commitIs !== "settle") assert.deepEqual(heard, { bytes: 0, whole: false }, where);
  // The provider hears of a request only once its hold is durable, and the answer of every death is still to be had.
  if (cut.commitIs === "reserve") assert.equal(billed, 0, where);
  if (cut.commitIs === "settle") assert.equal(billed, 1, where);
}

function receiptsOf(file: string, key: TestAccount | undefined): Record<string, unknown>[] {
  const database = openDatabase(file);
  try {
    return database.prepare("SELECT * FROM receipt_row WHERE partition = ?").all(`account:${key?.address}`);
  } finally {
    database.close();
  }
}
