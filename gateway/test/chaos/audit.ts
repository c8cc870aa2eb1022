import { DatabaseSync } from "node:sqlite";

/**
 * Recomputes the books from a gateway's file, in SQL and without any of the ledger's code, and says what disagrees. The
 * gateway must not be running: it keeps the file to itself. The file is only read.
 */
export type Audit = {
  /** One line for each thing that is wrong; none in books that are right. */
  problems: string[];
  creditedNanoUsd: number;
  settledNanoUsd: number;
  heldNanoUsd: number;
  openHolds: number;
  receipts: number;
  uses: number;
  /** Deliveries that were not acknowledged. */
  undelivered: number;
};

export function audit(file: string): Audit {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return auditDatabase(database);
  } finally {
    database.close();
  }
}

export function auditDatabase(database: DatabaseSync): Audit {
  const problems = Object.entries(checks).flatMap(([what, query]) =>
    database
      .prepare(`${query} LIMIT 20`)
      .all()
      .map((row) => `${what}: ${JSON.stringify(row)}`),
  );
  const integrity = database.prepare("PRAGMA integrity_check").get()?.integrity_check;
  if (integrity !== "ok") problems.push(`the file is damaged: ${String(integrity)}`);
  const total = (query: string): number => Number(database.prepare(`SELECT ${query}`).get()?.total ?? 0);
  return {
    problems,
    creditedNanoUsd: total("SUM(amount_nano_usd) AS total FROM credit_row"),
    settledNanoUsd: total("SUM(charge_nano_usd) AS total FROM receipt_row"),
    heldNanoUsd: total(`SUM(amount_nano_usd) AS total FROM hold_row WHERE ${isOpen} AND owner = partition`),
    openHolds: total(`COUNT(*) AS total FROM hold_row WHERE ${isOpen}`),
    receipts: total("COUNT(*) AS total FROM receipt_row"),
    uses: total("COUNT(*) AS total FROM use_row"),
    undelivered: total("COUNT(*) AS total FROM outbox_row"),
  };
}

const isOpen = "state IN ('open', 'orphaned')";
const day = (time: string): string => `(${time} - ${time} % 86400000)`;
const month = (time: string): string =>
  `(CAST(strftime('%s', ${time} / 1000, 'unixepoch', 'start of month') AS INTEGER) * 1000)`;
const windowStart = (window: string, time: string): string =>
  `CASE ${window} WHEN 'day' THEN ${day(time)} WHEN 'month' THEN ${month(time)} ELSE 0 END`;

/** What every counter should be: the sum over the rows that it counts. */
const expected = `
  SELECT hold_row.partition, counter.value AS id, 0 AS settled, amount_nano_usd AS held, 1 AS open
    FROM hold_row, json_each('["' || replace(counters, ' ', '","') || '"]') AS counter WHERE ${isOpen}
  UNION ALL SELECT 'ceiling', 'share:' || owner || '@0', 0, amount_nano_usd, 1
    FROM hold_row WHERE partition = 'ceiling' AND ${isOpen}
  UNION ALL SELECT partition, 'balance@0', charge_nano_usd, 0, 0
    FROM receipt_row WHERE partition LIKE 'account:%'
  UNION ALL SELECT receipt.partition, 'key:' || key_id || '@' || ${windowStart("window", "admitted_at")},
      charge_nano_usd, 0, 0
    FROM receipt_row AS receipt JOIN key_row AS key ON key.partition = receipt.partition AND key.id = key_id
  UNION ALL SELECT partition, 'capacity:' || ${day("admitted_at")} || '@' || ${day("admitted_at")}, charge_nano_usd, 0, 0
    FROM receipt_row WHERE partition LIKE 'identity:%'
  UNION ALL SELECT 'ceiling', 'ceiling@' || ${day("admitted_at")}, charge_nano_usd, 0, 0
    FROM receipt_row WHERE partition LIKE 'account:%'
  UNION ALL SELECT partition, 'uses@0', charge_nano_usd, 0, 0 FROM use_row`;

const start = "CAST(substr(wrong.id, instr(wrong.id, '@') + 1) AS INTEGER)";
/** It is this late at least: a hold is forgotten 48 hours after it was admitted. */
const now = `(SELECT max(newest.admitted_at + iif(hold.id IS NULL, ${48 * 3_600_000}, 0)) FROM receipt_row AS newest
  LEFT JOIN hold_row AS hold ON hold.partition = newest.partition AND hold.id = newest.id)`;

/** A day's or a month's counter may be forgotten once it is over, a hold that counted there is, and nothing is open. */
const isForgotten = `
  wrong.id NOT LIKE '%@0' AND open = 0
  AND NOT EXISTS (SELECT 1 FROM budget_row AS budget
    WHERE budget.partition = wrong.partition AND budget.id = substr(wrong.id, 1, instr(wrong.id, '@') - 1)
      AND ${start} >= ${windowStart("window", now)})
  AND NOT EXISTS (SELECT 1 FROM counter_row AS counter
    WHERE counter.partition = wrong.partition AND counter.id = wrong.id)
  AND EXISTS (SELECT 1 FROM receipt_row AS receipt
    WHERE (receipt.partition = wrong.partition OR wrong.partition = 'ceiling')
      AND admitted_at >= ${start}
      AND NOT EXISTS (SELECT 1 FROM hold_row AS hold WHERE hold.partition = wrong.partition AND hold.id = receipt.id))`;

/** Each finds what must not be. */
const checks: Record<string, string> = {
  "a counter is not the sum of its rows": `
    SELECT * FROM (SELECT partition, id, SUM(settled) AS settled, SUM(held) AS held, SUM(open) AS open
      FROM (SELECT partition, id, settled_nano_usd AS settled, held_nano_usd AS held, open_holds AS open FROM counter_row
        UNION ALL SELECT partition, id, -settled, -held, -open FROM (${expected}))
      GROUP BY partition, id HAVING SUM(settled) <> 0 OR SUM(held) <> 0 OR SUM(open) <> 0) AS wrong
    WHERE NOT (${isForgotten})`,
  "a total is not what its receipts come to": `
    SELECT partition, day_and_key, SUM(requests) AS requests, SUM(charge) AS charge
    FROM (SELECT partition, substr(id, 1, 11 + instr(substr(id, 12), ' ')) AS day_and_key, requests,
        charge_nano_usd AS charge FROM total_row
      UNION ALL SELECT partition, date(admitted_at / 1000, 'unixepoch') || ' ' || coalesce(key_id, '') || ' ', -1,
        -charge_nano_usd FROM receipt_row)
    GROUP BY partition, day_and_key HAVING SUM(requests) <> 0 OR SUM(charge) <> 0`,
  "a budget is exceeded": `
    SELECT counter.partition, counter.id, settled_nano_usd, held_nano_usd, limit_nano_usd
    FROM counter_row AS counter JOIN budget_row AS budget ON budget.partition = counter.partition
      AND budget.id = substr(counter.id, 1, instr(counter.id, '@') - 1)
    WHERE settled_nano_usd + held_nano_usd > limit_nano_usd`,
  "an account has more of the ceiling than its share": `
    SELECT share.id, held_nano_usd, limit_nano_usd
    FROM counter_row AS share JOIN budget_row AS budget ON budget.partition = 'ceiling' AND budget.id = 'ceiling'
    WHERE share.partition = 'ceiling' AND share.id LIKE 'share:%' AND held_nano_usd * 5 > limit_nano_usd`,
  "a balance is not what was credited": `
    SELECT budget.partition, limit_nano_usd, SUM(amount_nano_usd) AS credited
    FROM budget_row AS budget LEFT JOIN credit_row AS credit ON credit.partition = budget.partition
    WHERE budget.id = 'balance' GROUP BY budget.partition HAVING limit_nano_usd <> coalesce(credited, 0)`,
  "a credit without a balance": `
    SELECT partition, id FROM credit_row WHERE NOT EXISTS
      (SELECT 1 FROM budget_row WHERE budget_row.partition = credit_row.partition AND id = 'balance')`,
  "an activation was credited twice": `
    SELECT id, COUNT(*) AS times FROM credit_row GROUP BY id HAVING times > 1`,
  "a request has two receipts": `
    SELECT id, COUNT(*) AS times FROM receipt_row GROUP BY id HAVING times > 1`,
  "a request has two uses": `
    SELECT id, COUNT(*) AS times FROM use_row GROUP BY id HAVING times > 1`,
  "a receipt is above its hold": `
    SELECT id, charge_nano_usd, held_nano_usd FROM receipt_row WHERE charge_nano_usd > held_nano_usd`,
  "a released request was charged": `
    SELECT id, charge_nano_usd FROM receipt_row WHERE outcome <> 'settled' AND charge_nano_usd > 0`,
  "a hold and its receipt disagree": `
    SELECT hold.id, hold.state, hold.charge_nano_usd, outcome, receipt.charge_nano_usd AS receipt
    FROM hold_row AS hold JOIN receipt_row AS receipt ON receipt.partition = hold.partition AND receipt.id = hold.id
    WHERE state <> outcome OR hold.charge_nano_usd <> receipt.charge_nano_usd
      OR amount_nano_usd <> receipt.held_nano_usd`,
  // One that its follower refused, or was never asked for, was never forwarded, and leaves none.
  "a hold ended without a receipt": `
    SELECT hold.partition, hold.id FROM hold_row AS hold WHERE owner = partition AND state IN ('settled', 'released')
      AND fingerprint <> 'tombstone' AND NOT EXISTS
      (SELECT 1 FROM receipt_row AS receipt WHERE receipt.partition = hold.partition AND receipt.id = hold.id)
      AND NOT (state = 'released' AND EXISTS (SELECT 1 FROM hold_row AS follower
        WHERE follower.id = hold.id AND follower.partition <> hold.partition
          AND (follower.owner = hold.partition AND follower.state = 'refused' OR follower.fingerprint = 'tombstone')))`,
  "a follower and its owner disagree": `
    SELECT follower.id, follower.state, owner.state AS owner, follower.charge_nano_usd, owner.charge_nano_usd AS charge
    FROM hold_row AS follower JOIN hold_row AS owner ON owner.partition = follower.owner AND owner.id = follower.id
    WHERE follower.owner <> follower.partition AND follower.state <> 'refused'
      AND (follower.charge_nano_usd <> owner.charge_nano_usd OR follower.amount_nano_usd <> owner.amount_nano_usd
      OR iif(follower.state = 'orphaned', 'open', follower.state) <> iif(owner.state = 'orphaned', 'open', owner.state))`,
  "a settled receipt is not one use in the journal of its day": `
    SELECT receipt.id, receipt.charge_nano_usd, used.charge_nano_usd AS journalled, used.partition
    FROM receipt_row AS receipt LEFT JOIN use_row AS used ON used.id = receipt.id
    WHERE receipt.partition LIKE 'account:%' AND outcome = 'settled' AND (used.id IS NULL
      OR used.charge_nano_usd <> receipt.charge_nano_usd OR 'account:' || used.account <> receipt.partition
      OR used.partition <> 'journal:' || date(receipt.admitted_at / 1000, 'unixepoch'))`,
  "a use without a receipt": `
    SELECT id, charge_nano_usd FROM use_row WHERE NOT EXISTS
      (SELECT 1 FROM receipt_row WHERE receipt_row.id = use_row.id AND outcome = 'settled')`,
};
