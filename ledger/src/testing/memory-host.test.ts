import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition, journalPartition } from "../partition.ts";
import { type Saga, send } from "../saga.ts";
import { account, credit, makeExample, noon, reserve, reserveCeiling, settle } from "./example.ts";
import { openMemoryHost } from "./memory-host.ts";

function* whole(id: string): Saga<string> {
  yield* send(account, reserve(id, 50));
  yield* send(ceilingPartition, reserveCeiling(id, 50));
  const { status } = yield* send(account, settle(id, 20));
  return status;
}

test("as a client it runs a saga whole and delivers what it caused", async () => {
  const host = makeExample();
  assert.equal(await host.run(() => whole("r1")), "settled");
  assert.deepEqual(host.outbox(), []);
  assert.equal((await host.read(journalPartition("2027-06-15"), { type: "journal" })).settledNanoUsd, 20);
  assert.equal((await host.read(ceilingPartition, { type: "ceiling", at: noon })).settledNanoUsd, 20);
});

test("a saga goes one commit at a time, and one that is left behind leaves what it committed", async () => {
  const host = makeExample();
  const saga = host.begin(whole("r1"));
  assert.equal(saga.step(), true);
  assert.equal(saga.result, undefined);
  assert.equal((await host.read(account, { type: "balance", at: noon })).heldNanoUsd, 50);
  assert.equal((await host.read(ceilingPartition, { type: "ceiling", at: noon })).heldNanoUsd, 0);
  const lapsed = await host.lapsedHolds(noon + 900_001, 10);
  assert.deepEqual(
    lapsed.map(({ partition, hold }) => [partition, hold.id]),
    [[account, "r1"]],
  );
  assert.deepEqual(await host.lapsedHolds(noon + 900_000, 10), []);
});

test("a crash before a commit leaves nothing of it", () => {
  let crash = false;
  const beforeCommit = () => {
    if (crash) throw new Error("crash");
  };
  const host = openMemoryHost({ now: () => noon, beforeCommit });
  host.apply(account, credit("1:1", 5));
  crash = true;
  assert.throws(() => host.apply(account, credit("1:2", 5)), /crash/);
  crash = false;
  assert.deepEqual(
    host.all("credit").map(({ row }) => row.id),
    ["1:1"],
  );
  assert.equal(host.rows(account).get("budget", "balance")?.limitNanoUsd, 5);
});

test("a value that SQL would refuse is refused here", () => {
  const host = makeExample();
  const keyed = (keyId: unknown) => host.apply(account, { ...reserve("r1", 5), detail: keyId as string });
  for (const detail of [null, 5, undefined]) assert.throws(() => keyed(detail), TypeError);
  const timed = (at: number) => host.apply(account, { ...credit("1:2", 5), at });
  for (const at of [0.5, Number.NaN, -1]) assert.throws(() => timed(at), TypeError);
  assert.equal(host.rows(account).get("credit", "1:2"), undefined);
});
