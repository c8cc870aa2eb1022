import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { tableNames } from "@inference/ledger/schema";
import { audit } from "./audit.ts";
import { type BookedKey, bookAccount, setCeiling, withBooks } from "./books.ts";
import { openDatabase } from "../database.ts";
import { type NodeLedger, openNodeLedger } from "../ledger.ts";
import { gatewayEnvironment, gatewayUrl, launch, type Running, start, startProvider } from "./processes.ts";
import { runScript, steps } from "./script.ts";
import type { CrashPoint } from "./victim.ts";

const stages = ["before", "after"] as const;

test("a death right before or after any commit: all of it or nothing of it is there, and the rest can be done again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "crash-"));
  try {
    const reference = await runReference(join(folder, "reference.sqlite"));
    const commits = reference.states.length - 1;
    assert.ok(commits >= steps.length, `${commits} commits for ${steps.length} steps`);
    for (let commit = 1; commit <= commits; commit++) {
      await Promise.all(stages.map((stage) => crashAt({ stage, commit }, join(folder, `${commit}-${stage}`), reference)));
    }
    console.log(`${steps.length} steps, ${commits} commits, ${2 * commits} deaths`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What the file holds after each commit, and how many commits there had been when each step was answered. */
type Reference = { states: string[]; answeredAfter: number[] };

async function runReference(file: string): Promise<Reference> {
  const database = openDatabase(file);
  const states = [dump(database)];
  const answeredAfter: number[] = [];
  const clock = { time: 0 };
  const ledger = openLedger(database, clock, (stage) => {
    if (stage === "after") states.push(dump(database));
  });
  await runScript(ledger, clock, 0, () => answeredAfter.push(states.length - 1));
  database.close();
  assert.deepEqual(audit(file).problems, []);
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

  const database = openDatabase(file);
  try {
    assert.equal(dump(database), states[stage === "before" ? commit - 1 : commit], `${where}: what is on disk`);
    assert.deepEqual(audited(database, file), [], where);
    // A client that was not answered does its step again; the books end as if nobody had died.
    const clock = { time: 0 };
    const ledger = openLedger(database, clock, () => undefined);
    assert.equal(await ledger.recover(), 0, `${where}: deliveries share their cause's commit`);
    await runScript(ledger, clock, heard, () => undefined);
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
    onAlert: (message) => assert.fail(message),
    onFatal: (error) => assert.fail(String(error)),
    onCommit,
  });
}

function dump(database: DatabaseSync): string {
  const tables = tableNames.map((table) => [
    table,
    database.prepare(`SELECT * FROM ${table}_row ORDER BY partition, id`).all(),
  ]);
  return JSON.stringify(tables, null, 1);
}
