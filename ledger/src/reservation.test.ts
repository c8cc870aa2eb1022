import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { reserveRequest } from "./reservation.ts";
import type { Step } from "./saga.ts";
import { account, identity, makeExample, noon } from "./testing/example.ts";

type Example = ReturnType<typeof makeExample>;

const shared = { id: "r1", at: noon, amountNanoUsd: 10, leaseMs: 900_000, detail: "{}" };
const byKey = { ...shared, owner: account, payer: { kind: "key", digest: "digest of key1" } } as const;
const bySession = { ...shared, owner: identity, payer: { kind: "session", digest: "session1" } } as const;

/** Runs a reservation whose step `failing` fails, having taken effect or not. Answers what was held before it was undone. */
function reserveAndFail(
  host: Example,
  reservation: typeof byKey | typeof bySession,
  failing: number,
  arrives: boolean,
) {
  const saga = reserveRequest(reservation);
  const failure = new Error("not reached");
  let step: IteratorResult<Step, unknown> = saga.next();
  for (let number = 1; number < failing && !step.done; number++) {
    step = saga.next(host.apply(step.value.partition, step.value.command));
  }
  assert.ok(!step.done);
  const lost = step.value;
  if (arrives) host.apply(lost.partition, lost.command);
  const heldBefore = heldIn(host);
  assert.throws(() => {
    step = saga.throw(failure);
    while (!step.done) step = saga.next(host.apply(step.value.partition, step.value.command));
  }, failure);
  return { lost, heldBefore };
}

function heldIn(host: Example): number[] {
  return [
    answer(host.rows(account), { type: "balance", at: noon }).heldNanoUsd,
    answer(host.rows(identity), { type: "capacity", at: noon }).heldNanoUsd,
    answer(host.rows(ceilingPartition), { type: "ceiling", at: noon }).heldNanoUsd,
  ];
}

for (const [name, reservation, failing, held] of [
  ["a key's request that fails at its account", byKey, 1, [10, 0, 0]],
  ["a key's request that fails at the ceiling", byKey, 2, [10, 0, 10]],
  ["a session's request that fails at its identity", bySession, 1, [0, 10, 0]],
] as const) {
  for (const arrives of [true, false]) {
    test(`${name}, which ${arrives ? "took" : "did not take"} it, holds nothing, also when it arrives late`, () => {
      const host = makeExample();
      const { lost, heldBefore } = reserveAndFail(host, reservation, failing, arrives);
      if (arrives) assert.deepEqual(heldBefore, held);
      host.deliverAll();
      assert.deepEqual(heldIn(host), [0, 0, 0]);
      host.apply(lost.partition, lost.command);
      host.deliverAll();
      assert.deepEqual(heldIn(host), [0, 0, 0]);
      assert.deepEqual(host.all("receipt"), []);
      assert.deepEqual(host.alerts, []);
    });
  }
}
