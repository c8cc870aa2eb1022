import assert from "node:assert/strict";
import { test } from "node:test";
import { costBench } from "./cost-bench.ts";

/** What a prepaid request may use: more is a change of what it costs, and is to be meant. */
const MOST_OBJECT_REQUESTS = 5;
/** Of an account that is busy: its reserve and its settle, and a part of what it draws and delivers for many. */
const MOST_BUSY_REQUESTS = 3;
/** An allowance is raised, and lowered. */
const CALLS_FOR_A_BLOCK = 2;
/** One for each commit: three of the account, two of the ceiling. */
const MOST_LOG_ROWS = 5;
/** When logs are full, in the long run: segments, counters and totals, which many requests share. */
const MOST_TABLE_ROWS = 0.5;
/** Of the one account that is asked all the time: what its books were opened with. */
const BOOKS_ROWS = 15;
/** One every ten seconds: a scenario of this size takes less than twenty. */
const MOST_CHAIN_LOOKS = 2;
/** Sums of fractions. */
const rounding = 0.01;
/** The alarm that a hold sets, where the object had a later one. */
const ALARM = 1;

test("a prepaid request uses five calls and six rows at most, a stream one more for its first checkpoint", async () => {
  const { readings, ceiling } = await costBench({ size: 60, say: () => undefined });
  assert.equal(readings.length, 5);
  let tableRows = 0;
  let allRequests = 0;
  for (const { scenario, requests, perRequest, objectRequests, rowsWritten } of readings) {
    const { workerRequests, keyValueReads, keyValueWrites } = perRequest;
    assert.deepEqual([workerRequests, keyValueReads, keyValueWrites], [1, 0, 0], scenario);
    const called = (what: string) => objectRequests[what];
    assert.deepEqual([called("account reserve"), called("account settle")], [1, 1], scenario);
    assert.ok((called("ceiling reserveCeiling") ?? 0) <= 1, scenario);
    const isStream = scenario.includes("streams");
    assert.equal(called("account checkpoint"), isStream ? 1 : undefined, scenario);
    const drawn = called("account openBlock") ?? 0;
    const more = (isStream ? 1 : 0) + CALLS_FOR_A_BLOCK * drawn;
    // Not a request's: every Worker looks so now and then, whatever it serves.
    const looks = called("chain look") ?? 0;
    assert.ok(looks * requests <= MOST_CHAIN_LOOKS + rounding, `${scenario}: ${looks * requests} looks at the chain`);
    const calls = perRequest.objectRequests - looks;
    const most = scenario.startsWith("1 account") ? MOST_BUSY_REQUESTS : MOST_OBJECT_REQUESTS;
    assert.ok(calls <= most + more + rounding, `${scenario}: ${calls}`);
    const { log = 0, alarm = 0, "key-value": keyValue = 0 } = rowsWritten;
    assert.ok(log <= MOST_LOG_ROWS + more + rounding, `${scenario}: ${JSON.stringify(rowsWritten)}`);
    tableRows += (perRequest.rowsWritten - log - alarm - keyValue) * requests;
    allRequests += requests;
    assert.ok((rowsWritten.alarm ?? 0) <= ALARM + rounding, `${scenario}: ${rowsWritten.alarm} alarms set`);
    assert.ok(perRequest.objectGbSeconds > 0 && perRequest.rowsRead > 0, scenario);
  }
  const together = readings.find(({ scenario }) => scenario.includes("at once"));
  assert.ok((together?.rowsWritten.segment ?? 0) > 0, "no log was full");
  const most = MOST_TABLE_ROWS * allRequests + BOOKS_ROWS;
  assert.ok(tableRows <= most, `${tableRows} rows of tables for ${allRequests} requests`);
  assert.ok(ceiling.pairsPerSecond > 0);
});
