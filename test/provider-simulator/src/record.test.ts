import assert from "node:assert/strict";
import { test } from "node:test";
import { createRecordLog, type RequestRecord } from "./record.ts";
import { createRing } from "./ring.ts";

function record(body: string): RequestRecord {
  return {
    id: -1,
    method: "POST",
    path: "/",
    receivedAtMs: 0,
    finishedAtMs: null,
    authorization: null,
    equalsMasterKey: false,
    keyId: null,
    model: null,
    servedModel: null,
    user: null,
    stream: false,
    fault: null,
    headers: null,
    body,
    status: null,
    requestId: null,
    unitsSent: 0,
    aborted: null,
    usage: null,
    billedAtto: null,
  };
}

test("a ring keeps the last items under their own numbers", () => {
  const ring = createRing<string>(3);
  for (const item of ["a", "b", "c", "d"]) ring.add(item);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((sequence) => ring.at(sequence)),
    [null, "b", "c", "d", null],
  );
  assert.deepEqual([ring.first, ring.next], [1, 4]);
});

test("bodies are forgotten, oldest first, before they fill the memory; records stay", () => {
  const log = createRecordLog();
  const megabyte = "x".repeat(1024 * 1024);
  for (let i = 0; i < 80; i++) log.add(record(megabyte));
  const kept = log.select(() => true, 100);
  assert.equal(kept.length, 80);
  assert.deepEqual(
    kept.map((one) => one.body !== null),
    Array.from({ length: 80 }, (_, i) => i >= 16),
  );
  log.add(record(`${megabyte}x`));
  assert.equal(log.at(80)?.body, null);
});
