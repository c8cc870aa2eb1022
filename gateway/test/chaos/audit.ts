import { DatabaseSync } from "node:sqlite";

/**
 * Recomputes all sums of a gateway's file in SQL, without the ledger's code, and lists the differences. The
 * gateway must not be running: it keeps the file to itself. The file is only read.
 */
export type Audit = {
  /** One line for each difference. */
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
    creditedNanoUsd: total("SUM(limit_nano_usd) AS total FROM budget_row WHERE id = 'balance'"),
    settledNanoUsd: total("SUM(charge_nano_usd) AS total FROM receipt_row"),
    heldNanoUsd: total(`SUM(held_nano_usd) AS total FROM receipt_row WHERE ${isOpen}`),
    openHolds: total(`COUNT(*) AS total FROM receipt_row WHERE ${isOpen}`),
    receipts: total(`COUNT(*) AS total FROM receipt_row WHERE NOT ${isOpen} AND detail <> ''`),
    uses: total("COUNT(*) AS total FROM use_row"),
    undelivered: total("COUNT(*) AS total FROM outbox_row"),
  };
}

const isOpen = "(state IN ('open', 'orphaned'))";
const day = (time: string): string => `(${time} - ${time} % 86400000)`;
const month = (time: string): string =>
  `(CAST(strftime('%s', ${time} / 1000, 'unixepoch', 'start of month') AS INTEGER) * 1000)`;
const windowStart = (window: string, time: string): string =>
  `CASE ${window} WHEN 'day' THEN ${day(time)} WHEN 'month' THEN ${month(time)} ELSE 0 END`;
/** The parts of an allowance's id: \`<dayStart> <partition>\`. */
const allowanceDay = (id: string): string => `CAST(substr(${id}, 1, instr(${id}, ' ') - 1) AS INTEGER)`;
const allowanceOther = (id: string): string => `substr(${id}, instr(${id}, ' ') + 1)`;

/** Every counter is the sum of the rows that it counts. */
const expected = `
  SELECT partition, 'balance@0' AS id, charge_nano_usd AS settled, 0 AS held
    FROM receipt_row WHERE partition LIKE 'account:%'
  UNION ALL SELECT receipt.partition, 'key:' || key_id || '@' || ${windowStart("window", "admitted_at")},
      charge_nano_usd, 0
    FROM receipt_row AS receipt JOIN key_row AS key ON key.partition = receipt.partition AND key.id = key_id
  UNION ALL SELECT partition, 'capacity:' || ${day("admitted_at")} || '@' || ${day("admitted_at")}, charge_nano_usd, 0
    FROM receipt_row WHERE partition LIKE 'identity:%'
  UNION ALL SELECT 'ceiling', 'ceiling@' || ${allowanceDay("id")}, used_nano_usd, allowed_nano_usd - used_nano_usd
    FROM allowance_row WHERE partition = 'ceiling'`;

const start = "CAST(substr(wrong.id, instr(wrong.id, '@') + 1) AS INTEGER)";
const newest = "(SELECT max(admitted_at) FROM receipt_row)";

/** A day's or a month's counter may be forgotten once a later one of its budget counts, or once its sessions are. */
const isForgotten = `
  wrong.id NOT LIKE '%@0'
  AND NOT EXISTS (SELECT 1 FROM counter_row AS counter
    WHERE counter.partition = wrong.partition AND counter.id = wrong.id)
  AND (${start} < ${day(newest)} AND EXISTS (SELECT 1 FROM counter_row AS later
      WHERE later.partition = wrong.partition
        AND substr(later.id, 1, instr(later.id, '@')) = substr(wrong.id, 1, instr(wrong.id, '@'))
        AND CAST(substr(later.id, instr(later.id, '@') + 1) AS INTEGER) > ${start})
    OR wrong.id LIKE 'capacity:%' AND NOT EXISTS (SELECT 1 FROM session_row AS session
      WHERE session.partition = wrong.partition))`;

/** Each finds what must not be. The counters of sales, `carry` and `paid` are sums of no rows here. */
const checks: Record<string, string> = {
  "a counter is not the sum of its rows": `
    SELECT * FROM (SELECT partition, id, SUM(settled) AS settled, SUM(held) AS held
      FROM (SELECT partition, id, settled_nano_usd AS settled, held_nano_usd AS held FROM counter_row
          WHERE id LIKE 'balance@%' OR id LIKE 'key:%' OR id LIKE 'capacity:%' OR id LIKE 'ceiling@%'
        UNION ALL SELECT partition, id, -settled, -held FROM (${expected}))
      GROUP BY partition, id HAVING SUM(settled) <> 0 OR SUM(held) <> 0) AS wrong
    WHERE NOT (${isForgotten})`,
  "a total is not what its receipts come to": `
    SELECT partition, day_and_key, SUM(requests) AS requests, SUM(charge) AS charge
    FROM (SELECT partition, substr(id, 1, 11 + instr(substr(id, 12), ' ')) AS day_and_key, requests,
        charge_nano_usd AS charge FROM total_row
      UNION ALL SELECT partition, date(admitted_at / 1000, 'unixepoch') || ' ' || coalesce(key_id, '') || ' ', -1,
        -charge_nano_usd FROM receipt_row WHERE NOT ${isOpen} AND detail <> '')
    GROUP BY partition, day_and_key HAVING SUM(requests) <> 0 OR SUM(charge) <> 0`,
  "a balance is exceeded": `
    SELECT budget.partition, limit_nano_usd, settled_nano_usd, held FROM budget_row AS budget
    JOIN counter_row AS counter ON counter.partition = budget.partition AND counter.id = 'balance@0'
    JOIN (SELECT partition, SUM(iif(${isOpen}, held_nano_usd, 0)) AS held FROM receipt_row GROUP BY partition) AS holds
      ON holds.partition = budget.partition
    WHERE budget.id = 'balance' AND settled_nano_usd + held > limit_nano_usd`,
  "the ceiling is exceeded": `
    SELECT counter.id, settled_nano_usd, held_nano_usd, limit_nano_usd FROM counter_row AS counter
    JOIN budget_row AS budget ON budget.partition = 'ceiling' AND budget.id = 'ceiling'
    WHERE counter.partition = 'ceiling' AND counter.id LIKE 'ceiling@%'
      AND settled_nano_usd + held_nano_usd > limit_nano_usd`,
  "a balance is not what was activated": `
    SELECT budget.partition, limit_nano_usd FROM budget_row AS budget LEFT JOIN payer_row AS payer
      ON 'account:' || payer.id = budget.partition
    WHERE budget.id = 'balance'
      AND limit_nano_usd <> max(coalesce(activated_nano_usd, 0), coalesce(ahead_nano_usd, 0))`,
  "a request has two receipts": `
    SELECT id, COUNT(*) AS times FROM receipt_row GROUP BY id HAVING times > 1`,
  "a receipt is charged more than was held": `
    SELECT id, charge_nano_usd, held_nano_usd FROM receipt_row WHERE charge_nano_usd > held_nano_usd`,
  "a request that is not settled was charged": `
    SELECT id, state, charge_nano_usd FROM receipt_row WHERE state <> 'settled' AND charge_nano_usd > 0`,
  "a hold is resolved, or a receipt is not": `
    SELECT id, state, resolved_at FROM receipt_row WHERE ${isOpen} <> (resolved_at IS NULL)`,
  "a charge is not one use": `
    SELECT receipt.id, receipt.charge_nano_usd, used.cost_nano_usd FROM receipt_row AS receipt
    LEFT JOIN use_row AS used ON used.partition = receipt.partition AND used.receipt = receipt.id
    WHERE receipt.partition LIKE 'account:%' AND charge_nano_usd > 0 AND (used.id IS NULL
      OR cost_nano_usd <> charge_nano_usd OR CAST(used.id AS INTEGER) IS NOT ends_at_nano_usd
      OR used.admitted_at <> receipt.admitted_at)`,
  "a use without a charge": `
    SELECT used.partition, used.id, used.receipt FROM use_row AS used LEFT JOIN receipt_row AS receipt
      ON receipt.partition = used.partition AND receipt.id = used.receipt
    WHERE receipt.id IS NULL OR receipt.charge_nano_usd <> cost_nano_usd`,
  "an account's line has a gap": `
    SELECT * FROM (SELECT partition, id, CAST(id AS INTEGER) - cost_nano_usd AS starts_at,
        lag(CAST(id AS INTEGER), 1, 0) OVER (PARTITION BY partition ORDER BY id) AS ended_at FROM use_row)
    WHERE starts_at <> ended_at`,
  // An account's use of a day is the sum of its receipts' charges. It may have forgotten the row of an older day.
  "an account's allowance is not what it used": `
    SELECT own.partition, own.id, used_nano_usd, charged FROM allowance_row AS own
    LEFT JOIN (SELECT partition, ${day("admitted_at")} AS day, SUM(charge_nano_usd) AS charged FROM receipt_row
        GROUP BY partition, day) AS receipts
      ON receipts.partition = own.partition AND receipts.day = ${allowanceDay("own.id")}
    WHERE own.partition LIKE 'account:%' AND ${allowanceOther("own.id")} = 'ceiling'
      AND used_nano_usd <> coalesce(charged, 0)`,
  "the ceiling knows of more than an account used": `
    SELECT limits.id, limits.used_nano_usd, own.used_nano_usd AS own FROM allowance_row AS limits
    JOIN allowance_row AS own ON own.partition = ${allowanceOther("limits.id")}
      AND own.id = ${allowanceDay("limits.id")} || ' ceiling'
    WHERE limits.partition = 'ceiling' AND limits.used_nano_usd > own.used_nano_usd`,
  "an account used and holds more of the ceiling than it allowed": `
    SELECT own.partition, own.id, own.used_nano_usd, held, limits.allowed_nano_usd FROM allowance_row AS own
    LEFT JOIN allowance_row AS limits ON limits.partition = 'ceiling'
      AND limits.id = ${allowanceDay("own.id")} || ' ' || own.partition
    LEFT JOIN (SELECT partition, ${day("admitted_at")} AS day, SUM(held_nano_usd) AS held FROM receipt_row
        WHERE ${isOpen} GROUP BY partition, day) AS holds
      ON holds.partition = own.partition AND holds.day = ${allowanceDay("own.id")}
    WHERE own.partition LIKE 'account:%' AND ${allowanceOther("own.id")} = 'ceiling'
      AND own.used_nano_usd + coalesce(held, 0) > coalesce(limits.allowed_nano_usd, 0)`,
};
