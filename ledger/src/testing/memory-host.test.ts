import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition } from "../messages/partition.ts";
import { reserveRequest } from "../messages/reservation.ts";
import { type Saga, send } from "../messages/saga.ts";
import { account, chain, createKey, makeExample, noon, reserve, settle } from "./example.ts";
import { openMemoryHost } from "./memory-host.ts";

function* whole(id: string): Saga<string> {
  yield* reserveRequest({ ...reserve(id, 50), owner: account, chain, inPieces: false });
  const { status } = yield* send(account, settle(id, 20));
  return status;
}

test("as a client it runs a saga whole and delivers what it caused", async () => {
  const host = makeExample();
  assert.equal(await host.run(() => whole("r1")), "settled");
  assert.deepEqual(host.outbox(), []);
  assert.equal((await host.read(account, { type: "bill" })).settledNanoUsd, 20);
  assert.equal((await host.read(ceilingPartition, { type: "ceiling", at: noon })).settledNanoUsd, 20);
});

test("a saga goes one commit at a time, and one that is left behind leaves what it committed", async () => {
  const host = makeExample();
  const saga = host.begin(whole("r1"));
  const held = async () => [
    (await host.read(ceilingPartition, { type: "ceiling", at: noon })).heldNanoUsd,
    (await host.read(account, { type: "balance", at: noon })).heldNanoUsd,
  ];
  const seen: number[][] = [];
  for (let steps = 3; steps > 0; steps -= 1) {
    assert.equal(saga.step(), true);
    seen.push(await held());
  }
  assert.equal(saga.result, undefined);
  assert.deepEqual(seen, [
    [0, 0],
    [50, 0],
    [50, 50],
  ]);
  const lapsed = await host.lapsedHolds(noon + 900_001, 10);
  assert.deepEqual(
    lapsed.map(({ partition, hold }) => [partition, hold.id]),
    [[account, "r1"]],
  );
  assert.deepEqual(await host.lapsedHolds(noon + 900_000, 10), []);
});

test("a crash before a commit leaves none of its changes", () => {
  let crash = false;
  const beforeCommit = () => {
    if (crash) throw new Error("crash");
  };
  const host = openMemoryHost({ now: () => noon, beforeCommit });
  host.apply(account, createKey("key1"));
  crash = true;
  assert.throws(() => host.apply(account, createKey("key2")), /crash/);
  crash = false;
  assert.deepEqual(
    host.all("key").map(({ row }) => row.id),
    ["key1"],
  );
  assert.equal(host.rows(account).get("account", "account")?.keys, 1);
});

test("a value that SQL would refuse is refused here", () => {
  const host = makeExample();
  const keyed = (keyId: unknown) => host.apply(account, { ...reserve("r1", 0), detail: keyId as string });
  for (const detail of [null, 5, undefined]) assert.throws(() => keyed(detail), TypeError);
  const timed = (at: number) => host.apply(account, createKey("key2", { at }));
  for (const at of [0.5, Number.NaN, -1]) assert.throws(() => timed(at), TypeError);
  assert.equal(host.rows(account).get("key", "key2"), undefined);
});
