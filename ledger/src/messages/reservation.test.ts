import assert from "node:assert/strict";
import { test } from "node:test";
import { account, chain, identity, makeExample, noon } from "../testing/example.ts";
import type { CommandType } from "./commands.ts";
import { ceilingPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { reserveRequest } from "./reservation.ts";
import type { Step } from "./saga.ts";

type Example = ReturnType<typeof makeExample>;

const shared = { id: "r1", at: noon, amountNanoUsd: 10, leaseMs: 900_000, detail: "{}", chain };
const byKey = { ...shared, owner: account, payer: { kind: "key", digest: "digest of key1" } } as const;
const bySession = { ...shared, owner: identity, payer: { kind: "session", digest: "session1" } } as const;
type Reservation = typeof byKey | typeof bySession;

/** Runs a reservation whose step `failing` fails, having taken effect or not. Returns that step. */
function reserveAndFail(host: Example, reservation: Reservation, failing: number, arrives: boolean): Step {
  const saga = reserveRequest(reservation);
  const failure = new Error("not reached");
  let step: IteratorResult<Step, unknown> = saga.next();
  for (let number = 1; number < failing && !step.done; number++) {
    step = saga.next(host.apply(step.value.partition, step.value.command));
  }
  assert.ok(!step.done);
  const lost = step.value;
  if (arrives) host.apply(lost.partition, lost.command);
  assert.throws(() => {
    step = saga.throw(failure);
    while (!step.done) step = saga.next(host.apply(step.value.partition, step.value.command));
  }, failure);
  return lost;
}

function heldIn(host: Example): number[] {
  return [
    answer(host.rows(account), { type: "balance", at: noon }).heldNanoUsd,
    answer(host.rows(identity), { type: "capacity", at: noon }).heldNanoUsd,
    answer(host.rows(ceilingPartition), { type: "ceiling", at: noon }).heldNanoUsd,
  ];
}

for (const [name, reservation, failing, type] of [
  ["a key's request that fails at its account", byKey, 1, "reserve"],
  ["a key's request that fails at the ceiling", byKey, 2, "allow"],
  ["a key's request that fails at its account with the ceiling's answer", byKey, 3, "reserve"],
  ["a session's request that fails at its identity", bySession, 1, "reserve"],
] as [string, Reservation, number, CommandType][]) {
  for (const arrives of [true, false]) {
    test(`${name}, which ${arrives ? "took" : "did not take"} it, holds nothing, also when it arrives late`, () => {
      const host = makeExample();
      const lost = reserveAndFail(host, reservation, failing, arrives);
      assert.equal(lost.command.type, type);
      host.apply(lost.partition, lost.command);
      host.clock.now += 60_000;
      host.apply(account, { type: "lower", at: host.clock.now, limit: null });
      host.deliverAll();
      assert.deepEqual(heldIn(host), [0, 0, 0]);
      assert.equal(answer(host.rows(reservation.owner), { type: "receipt", id: "r1" }), null);
      assert.deepEqual(host.alerts, []);
    });
  }
}

test("an account that has not heard hears first, and its request goes on", async () => {
  const host = makeExample();
  host.clock.epoch = 2;
  assert.equal((await host.run(() => reserveRequest(byKey))).status, "unheard", "the chain is not read");
  host.apply(chain, { type: "reread", at: noon, readyFrom: 0 });
  const address = account.slice("account:".length);
  const activation = { id: 1, account: address, amountToken: "1", totalActivated: "1", accountActivatedNanoUsd: 1_000 };
  const activations = [{ ...activation, block: 1, transaction: "0x" }];
  host.apply(chain, { type: "advance", at: noon, block: 1, blockHash: "0x1", activations, chunks: [] });
  assert.equal((await host.run(() => reserveRequest(byKey))).status, "reserved");
});

test("requests that other requests overtake again and again are refused for a moment, and hold nothing", () => {
  const host = makeExample();
  const saga = reserveRequest(byKey);
  let step = saga.next();
  let asks = 0;
  while (!step.done) {
    const { partition, command } = step.value;
    const reply = host.apply(partition, command);
    // Somebody lowers the account's allowance each time before its answer arrives.
    if (command.type === "allow") {
      asks += 1;
      host.clock.now += 1;
      host.apply(account, { type: "lower", at: host.clock.now, limit: ceilingPartition });
    }
    step = saga.next(reply);
  }
  assert.deepEqual([asks, step.value.status], [8, "refused"]);
  host.deliverAll();
  assert.deepEqual(heldIn(host), [0, 0, 0]);
});
