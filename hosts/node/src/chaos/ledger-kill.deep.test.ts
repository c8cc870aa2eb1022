import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { auditDatabase } from "@inference/gateway/test/chaos/audit";
import { eventually } from "@inference/protocol/testing/eventually";
import { seededRandom } from "@inference/protocol/testing/seed";
import { openDatabase } from "../database.ts";
import { launch } from "./processes.ts";

const KILLS = 500;
/** Each file is killed a few times only, so that it stays small enough to be audited after each. */
const KILLS_A_FILE = 20;
const chance = seededRandom();

test(`${KILLS} kills of a ledger between and during commits: every answered settle is on disk, and the books balance`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-kill-"));
  let answered = 0;
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const file = join(folder, `${Math.floor(kill / KILLS_A_FILE)}.sqlite`);
      const heard = await killOne(file);
      if (kill % KILLS_A_FILE === KILLS_A_FILE - 1 || kill === KILLS - 1) answered += heard.length;
      const database = openDatabase(file);
      assert.deepEqual(auditDatabase(database).problems, [], `kill ${kill}`);
      const receipts = database.prepare("SELECT id FROM receipt_row WHERE state = 'settled'").all();
      const settled = new Set(receipts.map(({ id }) => String(id)));
      const lost = heard.filter((id) => !settled.has(id));
      assert.deepEqual(lost, [], `kill ${kill}`);
      database.close();
    }
    console.log(`${KILLS} kills, ${answered} answered settles`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Kills a ledger some commits after it began to answer. The result: the requests that it ever said were settled. */
async function killOne(file: string): Promise<string[]> {
  const heardFile = `${file}.heard`;
  const heard = () => (existsSync(heardFile) ? readFileSync(heardFile, "utf8").split("\n").slice(0, -1) : []);
  const before = heard().length;
  const victim = launch({ script: "./ledger-victim.ts", args: [file, heardFile] });
  try {
    await eventually(() => heard().length > before);
    await sleep(chance() * 60);
  } finally {
    const { signal } = await victim.kill();
    assert.equal(signal, "SIGKILL", victim.stderr());
  }
  return heard();
}
