import assert from "node:assert/strict";
import { test } from "node:test";
import { costBench } from "./cost-bench.ts";

/** Limits of a prepaid request. Calls are those that its Worker makes of objects. */
const MOST = {
  /** It is reserved and settled. With 32 at once some reserves wait for the allowance and are sent again. */
  usual: { calls: 2.5, rows: 4.5 },
  /** Every fifth request asks the ceiling, and some hours after a request the alarm looks at lost holds. */
  rested: { calls: 2, rows: 4 },
  /** The account also hears its totals from the chain's object, and tells its statement. */
  first: { calls: 5, rows: 13 },
} as const;
/** Of a round: one every ten seconds, in each isolate. */
const MOST_CHAIN_LOOKS = 12;
/** Sums of fractions. */
const rounding = 0.01;

const FROM_WORKERS = ["reserve", "settle", "hear"].map((what) => `account ${what}`);

test("a prepaid request is two calls of its Worker, and its account's rest adds two rows at most", async () => {
  const { readings, ceiling } = await costBench({ size: 40, say: () => undefined });
  assert.equal(readings.length, 7);
  for (const { scenario, requests, rounds, perRequest, objectRequests, rowsWritten } of readings) {
    const told = `${scenario}: ${JSON.stringify({ objectRequests, rowsWritten })}`;
    const called = (what: string) => objectRequests[what] ?? 0;
    const isStream = scenario.includes("streams");
    const isKeyed = scenario.includes("Idempotency-Key");
    const kind = scenario.includes("first") ? "first" : scenario.includes("half an hour") ? "rested" : "usual";
    assert.deepEqual(
      [perRequest.workerRequests, perRequest.keyValueReads, perRequest.keyValueWrites],
      [1, 0, isKeyed ? 1 : 0],
      told,
    );
    assert.equal(called("account settle"), 1, told);
    // A stream of 500 tokens is worth less than one more checkpoint, and takes less than a minute.
    assert.equal(called("account checkpoint"), isStream ? 1 : 0, told);
    assert.ok(called("chain look") * requests <= rounds * MOST_CHAIN_LOOKS + rounding, told);
    const calls = FROM_WORKERS.reduce((sum, what) => sum + called(what), 0);
    assert.ok(calls <= MOST[kind].calls + rounding, told);
    assert.ok(perRequest.rowsWritten <= MOST[kind].rows + (isStream ? 1 : 0) + rounding, told);
    assert.ok(perRequest.objectGbSeconds > 0 && perRequest.rowsRead > 0, told);
  }
  const together = readings.find(({ scenario }) => scenario === "32 at once");
  assert.ok((together?.rowsWritten.segment ?? 0) > 0, "no log was full");
  assert.ok(ceiling.pairsPerSecond > 0);
});
