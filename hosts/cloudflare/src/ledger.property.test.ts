import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testLaws } from "@inference/ledger/testing/laws";
import { type ClockedObjects, startClockedObjects } from "./testing/clocked-objects.ts";

/** The laws that the ledger in memory keeps, kept by its objects: each command a call, each partition an SQLite. */
let objects: ClockedObjects;
before(async () => {
  objects = await startClockedObjects();
});
after(() => objects?.stop());

const isDeep = process.env.DEEP === "1";
testLaws((clock) => objects.open(clock), {
  numRuns: isDeep ? 1_500 : 1,
  numRepeats: isDeep ? 1 : 0,
  withKnown: isDeep,
  endOnFailure: true,
});

test("on the way objects were evicted, and their process killed, with nothing but storage left", () => {
  const { evictions, kills } = objects.lost;
  console.log(`${evictions} evictions, ${kills} kills`);
  assert.ok(evictions > (isDeep ? 25 : 0) && (kills > 0 || !isDeep), JSON.stringify(objects.lost));
});
