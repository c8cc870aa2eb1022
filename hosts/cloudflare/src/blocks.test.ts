import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BLOCK_MS } from "@inference/ledger/limits";
import { accountPartition, ceilingPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { eventually } from "@inference/protocol/testing/eventually";
import { type ClockedHost, type ClockedObjects, fund, startClockedObjects } from "./testing/clocked-objects.ts";
import { startEdge } from "./testing/edge.ts";

/** An account's object gives back what is left of its block of the ceiling, whatever became of it meanwhile. */
const START = Date.UTC(2040, 5, 15, 12);
const account = accountPartition(`0x${"7".repeat(40)}`);
const clock = { now: START };

let objects: ClockedObjects;
before(async () => {
  objects = await startClockedObjects();
});
after(() => objects?.stop());

/** Admits a request of 10 that may draw a block. */
async function admit(host: ClockedHost, id: string): Promise<void> {
  const payer = { kind: "key", digest: "digest" } as const;
  const request = { id, at: clock.now, owner: account, payer, amountNanoUsd: 10, leaseMs: 900_000, detail: "{}" };
  const saga = reserveRequest({ ...request, blocks: true });
  let step = saga.next();
  while (!step.done) step = saga.next(await host.apply(step.value.partition, step.value.command));
  assert.equal(step.value.status, "reserved");
}

async function alarmAt(host: ClockedHost, partition: Partition): Promise<number | null> {
  const [at = null] = await host.call<number | null>("alarmAt", [partition]);
  return at;
}

test("a gateway's busy account has a block, and a lowered ceiling takes back what it did not use", async () => {
  const edge = await startEdge();
  try {
    const address = `0x${"8".repeat(40)}` as const;
    const { key } = await edge.account(1_000_000_000, { address });
    for (let sent = 0; sent < 6; sent += 1) {
      const response = await edge.chat(key, { messages: [{ role: "user", content: "[[tokens=5]]" }] });
      assert.equal(response.status, 200, await response.text());
    }
    const ceiling = () => edge.read(ceilingPartition, { type: "ceiling", at: Date.now() });
    const balance = () => edge.read(accountPartition(address), { type: "balance", at: Date.now() });
    await eventually(async () => assert.equal((await balance()).heldNanoUsd, 0));
    assert.ok((await ceiling()).heldNanoUsd > 0);
    await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: 40_000_000_000 });
    await eventually(async () => {
      const { settledNanoUsd, heldNanoUsd } = await ceiling();
      assert.deepEqual([settledNanoUsd, heldNanoUsd], [(await balance()).settledNanoUsd, 0]);
    });
  } finally {
    await edge.stop();
  }
});

test("the alarm ends a block after its minute, after an eviction too, and the ceiling holds nothing more", async () => {
  const host = await objects.open({ now: () => clock.now });
  await fund(host, account, START);
  await host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000 });
  const settle = (id: string, chargeNanoUsd: number) =>
    host.apply(account, { type: "settle", id, at: clock.now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
  for (const id of ["req_00", "req_01"]) {
    await admit(host, id);
    await settle(id, 0);
  }
  for (const id of ["req_1", "req_2", "req_3"]) await admit(host, id);
  assert.deepEqual(
    host.all("block").map(({ row }) => [row.drawnBy, row.amountNanoUsd]),
    [["req_2", 20]],
  );
  for (const id of ["req_1", "req_2", "req_3"]) await settle(id, 4);
  assert.equal(await alarmAt(host, account), START + BLOCK_MS);
  clock.now = START + BLOCK_MS;
  await host.crash?.();
  // The block ends with the first, and the ceiling is told with the next.
  for (let rings = 0; rings < 2; rings += 1) {
    await host.call("ring", [account]);
    clock.now = (await alarmAt(host, account)) ?? clock.now;
  }
  const [stored] = await host.call<{ block: unknown[]; counter: { id: string }[] }>("rows", [account]);
  assert.deepEqual([stored?.block, stored?.counter.filter(({ id }) => id.startsWith("block"))], [[], []]);
  const [told] = await host.call<{ counter: { settledNanoUsd: number; heldNanoUsd: number }[] }>("rows", [
    ceilingPartition,
  ]);
  assert.deepEqual(
    told?.counter.map(({ settledNanoUsd, heldNanoUsd }) => [settledNanoUsd, heldNanoUsd]),
    [[12, 0]],
  );
});
