import assert from "node:assert/strict";
import { test } from "node:test";
import { costBench } from "./cost-bench.ts";

/** Limits of a prepaid request, without its checkpoints. */
const MOST = {
  /** Its account is asked twice for a hold and once to settle, and the ceiling for an allowance. */
  usual: { calls: 4, logRows: 4, alarms: 0 },
  /** The account also hears its totals from the chain's object, and its alarm lowers the allowance. */
  first: { calls: 10, logRows: 8, alarms: 3 },
} as const;
/** Segments, counters and totals of full logs, which many requests share. */
const MOST_TABLE_ROWS = 0.5;
/** Rows that opened the account of the one-account scenarios. */
const BOOKS_ROWS = 15;
/** One every ten seconds: a scenario of this size takes less than twenty. */
const MOST_CHAIN_LOOKS = 2;
/** Sums of fractions. */
const rounding = 0.01;

test("a prepaid request uses four calls and four rows of the log, an account's first one ten and eight", async () => {
  const { readings, ceiling } = await costBench({ size: 60, say: () => undefined });
  assert.equal(readings.length, 5);
  let tableRows = 0;
  let allRequests = 0;
  for (const { scenario, requests, perRequest, objectRequests, rowsWritten } of readings) {
    const { workerRequests, keyValueReads, keyValueWrites } = perRequest;
    assert.deepEqual([workerRequests, keyValueReads, keyValueWrites], [1, 0, 0], scenario);
    const called = (what: string) => objectRequests[what] ?? 0;
    const checkpoints = called("account checkpoint");
    assert.equal(called("account settle"), 1, scenario);
    assert.ok(called("ceiling allow") <= 1, scenario);
    assert.equal(checkpoints > 0, scenario.includes("streams"), scenario);
    // Every Worker looks at the chain regularly, also without requests.
    const looks = called("chain look");
    assert.ok(looks * requests <= MOST_CHAIN_LOOKS + rounding, `${scenario}: ${looks * requests} looks at the chain`);
    const most = MOST[scenario.includes("cold") ? "first" : "usual"];
    const calls = perRequest.objectRequests - looks - checkpoints;
    assert.ok(calls <= most.calls + rounding, `${scenario}: ${calls}`);
    const { log = 0, alarm = 0, "key-value": keyValue = 0 } = rowsWritten;
    assert.ok(log <= most.logRows + checkpoints + rounding, `${scenario}: ${JSON.stringify(rowsWritten)}`);
    assert.ok(alarm <= most.alarms + rounding, `${scenario}: ${alarm} alarms set`);
    tableRows += (perRequest.rowsWritten - log - alarm - keyValue) * requests;
    allRequests += requests;
    assert.ok(perRequest.objectGbSeconds > 0 && perRequest.rowsRead > 0, scenario);
  }
  const together = readings.find(({ scenario }) => scenario.includes("at once"));
  assert.ok((together?.rowsWritten.segment ?? 0) > 0, "no log was full");
  const most = MOST_TABLE_ROWS * allRequests + BOOKS_ROWS;
  assert.ok(tableRows <= most, `${tableRows} rows of tables for ${allRequests} requests`);
  assert.ok(ceiling.pairsPerSecond > 0);
});
