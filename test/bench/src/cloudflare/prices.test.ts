import assert from "node:assert/strict";
import { test } from "node:test";
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
