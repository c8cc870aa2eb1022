import assert from "node:assert/strict";
import { test } from "node:test";
import { costBench } from "./cost-bench.ts";
import { usdOfMillion } from "./prices.ts";

test("a million requests cost what each uses of every unit, at its price", () => {
  const nothing = {
    workerRequests: 0,
    cpuMs: 0,
    objectRequests: 0,
    objectGbSeconds: 0,
    rowsRead: 0,
    rowsWritten: 0,
    keyValueReads: 0,
    keyValueWrites: 0,
  };
  assert.equal(usdOfMillion(nothing), 0);
  assert.equal(usdOfMillion({ ...nothing, workerRequests: 1, objectRequests: 2, rowsWritten: 3 }), 0.3 + 0.3 + 3);
  assert.equal(usdOfMillion({ ...nothing, objectGbSeconds: 0.001, keyValueWrites: 2 }), 0.0125 + 10);
});

/** What a prepaid request may use: more is a change of what it costs, and is to be meant. */
const MOST_OBJECT_REQUESTS = 5;
/** One for each commit: two of the account, two of the ceiling, one of the journal. */
const MOST_LOG_ROWS = 5;
/** When logs are full, in the long run: its hold and its receipt, the ceiling's hold, the journal's use. */
const MOST_TABLE_ROWS = 4;
/** What many requests share: counters and totals, a row each for a log that is full. */
const SHARED_ROWS = 0.2;
/** Of the one account that is asked all the time: what its books were opened with. */
const BOOKS_ROWS = 15;
/** One every ten seconds: a scenario of this size takes less than twenty. */
const MOST_CHAIN_LOOKS = 2;
/** Sums of fractions. */
const rounding = 0.01;
/** The alarm that a hold sets, where the object had a later one. */
const ALARM = 1;

test("a prepaid request uses five calls and nine rows at most, a stream one more for its first checkpoint", async () => {
  const { readings, ceiling } = await costBench({ size: 60, say: () => undefined });
  assert.equal(readings.length, 5);
  let tableRows = 0;
  let allRequests = 0;
  for (const { scenario, requests, perRequest, objectRequests, rowsWritten } of readings) {
    const { workerRequests, keyValueReads, keyValueWrites } = perRequest;
    assert.deepEqual([workerRequests, keyValueReads, keyValueWrites], [1, 0, 0], scenario);
    const called = (what: string) => objectRequests[what];
    assert.deepEqual(
      [called("account reserve"), called("ceiling reserveCeiling"), called("account settle")],
      [1, 1, 1],
      scenario,
    );
    const isStream = scenario.includes("streams");
    assert.equal(called("account checkpoint"), isStream ? 1 : undefined, scenario);
    const more = isStream ? 1 : 0;
    // Not a request's: every Worker looks so now and then, whatever it serves.
    const looks = called("chain look") ?? 0;
    assert.ok(looks * requests <= MOST_CHAIN_LOOKS + rounding, `${scenario}: ${looks * requests} looks at the chain`);
    const calls = perRequest.objectRequests - looks;
    assert.ok(calls <= MOST_OBJECT_REQUESTS + more + rounding, `${scenario}: ${calls}`);
    const { log = 0, alarm = 0, "key-value": keyValue = 0 } = rowsWritten;
    assert.ok(log <= MOST_LOG_ROWS + more + rounding, `${scenario}: ${JSON.stringify(rowsWritten)}`);
    tableRows += (perRequest.rowsWritten - log - alarm - keyValue) * requests;
    allRequests += requests;
    assert.ok((rowsWritten.alarm ?? 0) <= ALARM + rounding, `${scenario}: ${rowsWritten.alarm} alarms set`);
    assert.ok(perRequest.objectGbSeconds > 0 && perRequest.rowsRead > 0, scenario);
  }
  const together = readings.find(({ scenario }) => scenario.includes("at once"));
  assert.ok((together?.perRequest.objectRequests ?? 5) < 5, "requests at once share their deliveries");
  assert.ok((together?.rowsWritten.segment ?? 0) > 0, "no log was full");
  const most = (MOST_TABLE_ROWS + SHARED_ROWS) * allRequests + BOOKS_ROWS;
  assert.ok(tableRows <= most, `${tableRows} rows of tables for ${allRequests} requests`);
  assert.ok(ceiling.pairsPerSecond > 0);
});
