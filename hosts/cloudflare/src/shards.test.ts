import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkSums } from "@inference/gateway/test/settlement/audit";
import { testExactSettlements } from "@inference/gateway/test/settlement/exact-settlements";
import { BLOCK_MS } from "@inference/ledger/limits";
import { accountPartition, ceilingPartition, ceilingShard, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { type ClockedHost, type ClockedObjects, fund, startClockedObjects } from "./testing/clocked-objects.ts";
import { type Edge, startEdge } from "./testing/edge.ts";

/** A gateway whose ceiling has three shards: what its objects do by themselves, and what they say together. */
const shards = [1, 2, 3].map(ceilingShard);
const wallets = Array.from({ length: 9 }, (_, n): Address => `0x${(0xe000 + n).toString(16).padStart(40, "0")}`);

let edge: Edge;
let objects: ClockedObjects;
before(async () => {
  [edge, objects] = await Promise.all([startEdge({ CEILING_SHARDS: "3" }), startClockedObjects()]);
});
after(async () => {
  await edge?.stop();
  await objects?.stop();
});

const view = (partition: Partition) => edge.read(partition, { type: "ceiling", at: edge.now() });

async function send(key: string): Promise<number> {
  const response = await edge.chat(key, { messages: [{ role: "user", content: "[[tokens=5]]" }] });
  await response.text();
  return response.status;
}

test("accounts are spread over the shards, and with their requests over all books are one number", async () => {
  const keys: string[] = [];
  for (const address of wallets) keys.push((await edge.account(1_000_000_000, { address })).key);
  const statuses = await Promise.all([...keys, ...keys, ...keys].map(send));
  assert.deepEqual(new Set(statuses), new Set([200]));
  // One of them is busy, and has a block of its shard's.
  for (let sent = 0; sent < 8; sent += 1) assert.equal(await send(keys[0] ?? ""), 200);
  const [block] = await edge.rows("block", accountPartition(wallets[0] ?? "0x"));
  assert.ok(block?.ceiling != null && shards.includes(block.ceiling), JSON.stringify(block));
  // Without the ceiling and the shard, the block covers what it has room for.
  for (const partition of [ceilingPartition, block.ceiling]) await edge.object(partition, "outOfService", true);
  assert.equal(await send(keys[0] ?? ""), 200);
  for (const partition of [ceilingPartition, block.ceiling]) await edge.object(partition, "outOfService", false);
  for (const shard of shards) await edge.object(shard, "evict").catch(() => undefined);
  assert.equal(await send(keys[1] ?? ""), 200);
  await eventually(async () => {
    for (const address of wallets) assert.equal((await edge.balance(address)).heldNanoUsd, 0);
  });
  await eventually(() => checkSums(edge).then(() => true));
  const used = await Promise.all(shards.map(async (shard) => (await view(shard)).settledNanoUsd));
  assert.ok(used.filter((settledNanoUsd) => settledNanoUsd > 0).length > 1, String(used));
});

test("a lowered ceiling closes the blocks of shards and accounts, and what the ceiling has settled is exact then", async () => {
  await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: 40_000_000_000 });
  await eventually(async () => {
    const { settledNanoUsd, heldNanoUsd } = await view(ceilingPartition);
    const charged = await Promise.all(wallets.map(async (address) => (await edge.balance(address)).settledNanoUsd));
    assert.deepEqual([settledNanoUsd, heldNanoUsd], [charged.reduce((sum, charge) => sum + charge, 0), 0]);
  });
});

const START = Date.UTC(2040, 5, 15, 12);
const account = accountPartition(`0x${"7".repeat(40)}`);
const [shard = ""] = shards;
const clock = { now: START };

async function admit(host: ClockedHost, id: string): Promise<void> {
  const payer = { kind: "key", digest: "digest" } as const;
  const request = { id, at: clock.now, owner: account, payer, amountNanoUsd: 10, leaseMs: 900_000, detail: "{}" };
  const saga = reserveRequest({ ...request, ceiling: shard });
  let step = saga.next();
  while (!step.done) step = saga.next(await host.apply(step.value.partition, step.value.command));
  assert.equal(step.value.status, "reserved");
}

test("the alarm ends a shard's block after its minute, after an eviction too, and the ceiling holds nothing more", async () => {
  const host = await objects.open({ now: () => clock.now });
  await fund(host, account, START);
  await host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000 });
  for (const n of [1, 2, 3, 4, 5]) await admit(host, `req_${n}`);
  assert.deepEqual(
    host.all("block").map(({ partition, row }) => [partition, row.drawnBy, row.amountNanoUsd]),
    [[shard, "req_4", 40]],
  );
  for (const n of [1, 2, 3, 4, 5]) {
    const end = { id: `req_${n}`, at: clock.now, lossNanoUsd: 0, detail: "{}" };
    await host.apply(account, { type: "settle", ...end, chargeNanoUsd: 4 });
  }
  // The account tells the shard, and the shard the ceiling.
  await eventually(async () => {
    await host.call("ring", [account, shard]);
    const [stored] = await host.call<{ hold: { state: string }[] }>("rows", [shard]);
    assert.deepEqual(new Set(stored?.hold.map(({ state }) => state)), new Set(["settled"]));
  });
  clock.now = START + BLOCK_MS;
  await host.crash?.();
  await eventually(async () => {
    await host.call("ring", [shard]);
    const [told] = await host.call<{ counter: { id: string; settledNanoUsd: number; heldNanoUsd: number }[] }>("rows", [
      ceilingPartition,
    ]);
    assert.deepEqual(
      told?.counter.map(({ settledNanoUsd, heldNanoUsd }) => [settledNanoUsd, heldNanoUsd]),
      [[20, 0]],
    );
  });
  const [stored] = await host.call<{ block: unknown[] }>("rows", [shard]);
  assert.deepEqual(stored?.block, []);
});

if (process.env.DEEP === "1") testExactSettlements(() => startEdge({ CEILING_SHARDS: "3" }));
