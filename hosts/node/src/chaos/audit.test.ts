import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { auditDatabase } from "@inference/gateway/test/chaos/audit";
import { openDatabase } from "../database.ts";
import { openNodeLedger } from "../ledger.ts";
import { runScript, steps } from "./script.ts";

const folder = mkdtempSync(join(tmpdir(), "audit-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

/** A ledger with every kind of row: receipts of accounts and identities, uses, allowances, and open holds. */
async function makeBooks(): Promise<DatabaseSync> {
  const database = openDatabase(join(folder, `${++files}.sqlite`), "NORMAL");
  const clock = { time: 0 };
  const ledger = openNodeLedger(database, {
    now: () => clock.time,
    epoch: 1,
    onAlert: (message) => assert.fail(message),
    onFatal: (error) => assert.fail(String(error)),
  });
  const stopped = new Error("before the sweeper ends what is open");
  await assert.rejects(
    runScript(ledger, clock, 0, (step) => {
      if (steps[step + 1]?.name === "the sweeper orphans") throw stopped;
    }),
    stopped,
  );
  await ledger.close();
  return database;
}

test("books that are right are found right, and their sums told", async () => {
  const database = await makeBooks();
  assert.deepEqual(auditDatabase(database), {
    problems: [],
    creditedNanoUsd: 13_000,
    settledNanoUsd: 359,
    heldNanoUsd: 120,
    openHolds: 3,
    receipts: 3,
    uses: 1,
    undelivered: 0,
  });
});

/** One nano-dollar, one row or one letter off. */
const tampered: Record<string, [change: string, found: RegExp]> = {
  "a balance that forgot a charge": [
    "UPDATE counter_row SET settled_nano_usd = settled_nano_usd - 1 WHERE id = 'balance@0' AND settled_nano_usd > 0",
    /counter is not the sum/,
  ],
  "a key that counts too much": [
    "UPDATE counter_row SET settled_nano_usd = settled_nano_usd + 1 WHERE id LIKE 'key:alices-key@%'",
    /counter is not the sum/,
  ],
  "a ceiling that forgot what it allowed": [
    "UPDATE counter_row SET held_nano_usd = 0 WHERE id LIKE 'ceiling@%'",
    /not the sum/,
  ],
  "a capacity that forgot its session's use": [
    "UPDATE counter_row SET settled_nano_usd = 0 WHERE id LIKE 'capacity:%'",
    /not the sum/,
  ],
  "a total that forgot a charge": [
    "UPDATE total_row SET charge_nano_usd = charge_nano_usd - 1 WHERE charge_nano_usd > 0",
    /total is not what its receipts come to/,
  ],
  "a total that counts a request twice": [
    "UPDATE total_row SET requests = requests + 1 WHERE partition LIKE 'identity:%'",
    /total is not what its receipts come to/,
  ],
  "a ceiling below what it allowed": [
    "UPDATE budget_row SET limit_nano_usd = 1 WHERE id = 'ceiling'",
    /the ceiling is exceeded/,
  ],
  "a balance below what is spent": [
    "UPDATE budget_row SET limit_nano_usd = 1 WHERE id = 'balance'",
    /a balance is exceeded/,
  ],
  "a balance that nobody activated": ["DELETE FROM payer_row", /balance is not what was activated/],
  "a receipt that is there twice": [
    "CREATE TEMP TABLE twice AS SELECT * FROM receipt_row WHERE id = 'r1'; UPDATE twice SET partition = 'identity:0xc'; " +
      "INSERT INTO receipt_row SELECT * FROM twice",
    /two receipts/,
  ],
  "a receipt above its hold": [
    "UPDATE receipt_row SET charge_nano_usd = 101 WHERE id = 'r1'",
    /charged more than was held/,
  ],
  "a released request that was charged": [
    "UPDATE receipt_row SET charge_nano_usd = 1 WHERE id = 'r2'",
    /not settled was charged/,
  ],
  "a hold that is resolved": ["UPDATE receipt_row SET resolved_at = 1 WHERE id = 'r3'", /a hold is resolved/],
  "a use that is lost": ["DELETE FROM use_row", /a charge is not one use/],
  "a use that cost less": ["UPDATE use_row SET cost_nano_usd = cost_nano_usd - 1", /a charge is not one use/],
  "a use on another day": ["UPDATE use_row SET admitted_at = admitted_at + 86400000", /a charge is not one use/],
  "a use of nothing": ["UPDATE use_row SET receipt = 'invented'", /a use without a charge/],
  "a line that begins late": ["UPDATE use_row SET id = '0000000000000061'", /line has a gap/],
  "an account that forgot what it used of the ceiling": [
    "UPDATE allowance_row SET used_nano_usd = 0 WHERE partition LIKE 'account:%'",
    /allowance is not what it used/,
  ],
  "a ceiling that heard of too much": [
    "UPDATE allowance_row SET used_nano_usd = 61, allowed_nano_usd = allowed_nano_usd + 1 WHERE partition = 'ceiling'",
    /knows of more than an account used/,
  ],
  "a ceiling that took an allowance back": [
    "UPDATE allowance_row SET allowed_nano_usd = used_nano_usd WHERE partition = 'ceiling'",
    /more of the ceiling than it allowed/,
  ],
};

for (const [what, [change, found]] of Object.entries(tampered)) {
  test(`${what} is found`, async () => {
    const database = await makeBooks();
    const before = auditDatabase(database).problems;
    assert.deepEqual(before, []);
    database.exec(change);
    assert.match(auditDatabase(database).problems.join("\n"), found);
  });
}
