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

/** Books in which everything is: receipts of accounts and identities, a journal, and holds that are still open. */
async function makeBooks(): Promise<DatabaseSync> {
  const database = openDatabase(join(folder, `${++files}.sqlite`), "NORMAL");
  const clock = { time: 0 };
  const ledger = openNodeLedger(database, {
    now: () => clock.time,
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
    openHolds: 6,
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
  "a hold that is not counted": ["UPDATE counter_row SET open_holds = 0 WHERE id = 'balance@0'", /not the sum/],
  "a ceiling that forgot what it holds": [
    "UPDATE counter_row SET held_nano_usd = 0 WHERE id LIKE 'ceiling@%'",
    /not the sum/,
  ],
  "a share that is gone": ["DELETE FROM counter_row WHERE id LIKE 'share:%'", /not the sum/],
  "a capacity that forgot its session's use": [
    "UPDATE counter_row SET settled_nano_usd = 0 WHERE id LIKE 'capacity:%'",
    /not the sum/,
  ],
  "a journal whose total is off": ["UPDATE counter_row SET settled_nano_usd = 61 WHERE id = 'uses@0'", /not the sum/],
  "a total that forgot a charge": [
    "UPDATE total_row SET charge_nano_usd = charge_nano_usd - 1 WHERE charge_nano_usd > 0",
    /total is not what its receipts come to/,
  ],
  "a total that counts a request twice": [
    "UPDATE total_row SET requests = requests + 1 WHERE partition LIKE 'identity:%'",
    /total is not what its receipts come to/,
  ],
  "a limit below what is spent": [
    "UPDATE budget_row SET limit_nano_usd = 1 WHERE id = 'ceiling'",
    /a budget is exceeded/,
  ],
  "an account that holds more than its share": [
    "UPDATE budget_row SET limit_nano_usd = 599 WHERE id = 'ceiling'",
    /more of the ceiling than its share/,
  ],
  "a balance without its credit": ["DELETE FROM credit_row WHERE id = '1:1'", /balance is not what was credited/],
  "a credit that no balance has": ["DELETE FROM budget_row WHERE id = 'balance'", /a credit without a balance/],
  "an activation credited to two": [
    "INSERT INTO credit_row SELECT 'account:0xc', id, amount_nano_usd, credited_at, detail FROM credit_row LIMIT 1",
    /credited twice/,
  ],
  "a receipt that is there twice": [
    `INSERT INTO receipt_row SELECT 'identity:0xc', id, admitted_at, resolved_at, outcome, charge_nano_usd,
       held_nano_usd, loss_nano_usd, key_id, detail FROM receipt_row WHERE id = 'r1'`,
    /two receipts/,
  ],
  "a use that is there twice": [
    `INSERT INTO use_row (partition, id, account, charge_nano_usd, admitted_at, server)
       SELECT 'journal:2026-01-16', id, account, charge_nano_usd, admitted_at, server FROM use_row`,
    /two uses/,
  ],
  "a receipt above its hold": [
    "UPDATE receipt_row SET charge_nano_usd = 101 WHERE id = 'r1'",
    /a receipt is above its hold/,
  ],
  "a released request that was charged": [
    "UPDATE receipt_row SET charge_nano_usd = 1 WHERE id = 'r2'",
    /released request was charged/,
  ],
  "a hold whose receipt says otherwise": [
    "UPDATE receipt_row SET charge_nano_usd = 59 WHERE id = 'r1'",
    /hold and its receipt disagree/,
  ],
  "a receipt that is lost": ["DELETE FROM receipt_row WHERE id = 'r1'", /ended without a receipt/],
  "a receipt of nothing that is lost": ["DELETE FROM receipt_row WHERE id = 'r2'", /ended without a receipt/],
  "a ceiling that heard of another charge": [
    "UPDATE hold_row SET charge_nano_usd = 1 WHERE id = 'r1' AND partition = 'ceiling'",
    /follower and its owner disagree/,
  ],
  "a ceiling that let go by itself": [
    "UPDATE hold_row SET state = 'released' WHERE id = 'r3' AND partition = 'ceiling'",
    /follower and its owner disagree/,
  ],
  "a use that is lost": ["DELETE FROM use_row", /not one use in the journal/],
  "a use of another account": ["UPDATE use_row SET account = '0xc'", /not one use in the journal/],
  "a use on another day": ["UPDATE use_row SET partition = 'journal:2026-01-16'", /not one use in the journal/],
  "a use of nothing": [
    `INSERT INTO use_row (partition, id, account, charge_nano_usd, admitted_at, server)
       SELECT partition, 'invented', account, 0, admitted_at, server FROM use_row`,
    /a use without a receipt/,
  ],
};

for (const [what, [change, found]] of Object.entries(tampered)) {
  test(`${what} is found`, async () => {
    const database = await makeBooks();
    assert.ok(Number(database.prepare(change).run().changes) > 0, "nothing was changed");
    assert.match(auditDatabase(database).problems.join("\n"), found);
  });
}

test("a month's counter may be forgotten with its holds once the month is over, and is missed before", async () => {
  const database = await makeBooks();
  /** Another row like one that is there. */
  const copy = (table: string, id: string, change: string): void => {
    database.exec(`CREATE TEMP TABLE copied AS SELECT * FROM ${table} WHERE id = '${id}'; UPDATE copied SET ${change};
      INSERT INTO ${table} SELECT * FROM copied; DROP TABLE copied`);
  };
  const missed = () => auditDatabase(database).problems.filter((problem) => problem.includes('"key:monthly@'));
  copy("key_row", "alices-key", "id = 'monthly', window = 'month'");
  copy("budget_row", "key:alices-key", "id = 'key:monthly', window = 'month'");
  copy("receipt_row", "r1", "id = 'forgotten', key_id = 'monthly'");
  assert.match(missed().join(), /not the sum/);
  copy(
    "receipt_row",
    "r1",
    `id = 'later', key_id = 'monthly', charge_nano_usd = 0, admitted_at = ${Date.UTC(2026, 1)}`,
  );
  assert.deepEqual(missed(), []);
});
