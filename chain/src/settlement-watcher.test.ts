import assert from "node:assert/strict";
import { test } from "node:test";
import { chainPartition } from "@inference/ledger/partition";
import { MAX_NANO_USD } from "@inference/protocol/money";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { alice, bob, watch } from "./testing/watch.ts";

beginAnew();

test("an activation is credited when it is final, and not a block earlier", async () => {
  const { watcher, balance } = watch(chain);
  await chain.activate(alice, 5_000_000n);
  for (let depth = 0; depth < 8; depth += 1) {
    await watcher.poll();
    assert.equal(await balance(alice), 0, `credited ${depth} blocks deep`);
    await chain.mine();
  }
  await watcher.poll();
  assert.equal(await balance(alice), 5_000_000_000);
});

test("with a number of confirmations it is credited that many blocks deep", async () => {
  const { watcher, balance } = watch(chain, { confirmations: 2 });
  await chain.finalize();
  await watcher.poll();
  await chain.activate(alice, 1n);
  await chain.mine();
  await watcher.poll();
  assert.equal(await balance(alice), 0);
  await chain.mine();
  await watcher.poll();
  assert.equal(await balance(alice), 1_000);
});

test("activations of several accounts, two in one transaction among them, each count once", async () => {
  const { drain, balance, ledger } = watch(chain);
  await chain.activate(alice, 1_000_000n);
  await chain.activateTwice(bob, 2_000_000n);
  await chain.activate(alice, 3n);
  await chain.finalize();
  assert.equal((await drain()).outcome, "advanced");
  assert.equal((await drain()).outcome, "idle");
  assert.equal(await balance(alice), 1_000_003_000);
  assert.equal(await balance(bob), 4_000_000_000);
  const cursor = await ledger.read(chainPartition(31337), { type: "cursor" });
  assert.equal(cursor?.lastActivationId, 4);
  assert.equal(cursor?.totalActivated, "5000003");
});

test("an activation that is not final is shown as pending until it is credited", async () => {
  const { drain, watcher } = watch(chain);
  await chain.finalize();
  await drain();
  await chain.activate(alice, 7n);
  await watcher.poll();
  const block = await chain.latest();
  const [pending, ...others] = watcher.pendingActivations(alice.toUpperCase().replace("0X", "0x") as typeof alice);
  assert.deepEqual(others, []);
  assert.equal(pending?.amountNanoUsd, 7_000);
  assert.equal(pending?.block, block);
  assert.match(pending?.transaction ?? "", /^0x[0-9a-f]{64}$/);
  assert.deepEqual(watcher.pendingActivations(bob), []);
  await chain.finalize();
  await drain();
  assert.deepEqual(watcher.pendingActivations(alice), []);
});

test("60 activations after the chain stood still are all credited, in bounded steps", async () => {
  const { watcher, drain, balance } = watch(chain, { maxBlocks: 5 });
  await chain.pauseMining();
  for (let count = 0; count < 60; count += 1) {
    await chain.activate(count % 2 === 0 ? alice : bob, BigInt(count + 1));
    if (count % 10 === 9) await chain.mine();
  }
  await chain.mine(20);
  const first = await watcher.poll();
  assert.ok(first.outcome === "advanced" && first.more && first.block === chain.startBlock + 4);
  assert.equal(watcher.status().state, "starting");
  await drain();
  assert.equal(watcher.status().state, "following");
  const total = (1_000 * (60 * 61)) / 2;
  assert.equal((await balance(alice)) + (await balance(bob)), total);
  assert.equal(await balance(bob), 1_000 * 30 * 31);
});

test("the status says how far the books are and how far the chain is", async () => {
  const { watcher, drain, clock } = watch(chain, { maxBlocks: 3 });
  assert.deepEqual(watcher.status(), { state: "starting", block: null, head: null, lagBlocks: null, lastPollAt: null });
  await chain.finalize();
  const head = await chain.latest();
  await watcher.poll();
  assert.equal(watcher.status().head, head);
  assert.equal(watcher.status().block, chain.startBlock + 2);
  assert.equal(watcher.status().lagBlocks, head - 8 - (chain.startBlock + 2));
  clock.skewMs = 5_000;
  await drain();
  const { lastPollAt, ...status } = watcher.status();
  assert.deepEqual(status, { state: "following", block: head - 8, head, lagBlocks: 0 });
  assert.ok((lastPollAt ?? 0) > Date.now() + 4_000);
});

test("an amount above the largest balance counts as the largest, and stops nothing", async () => {
  const { drain, balance, alerts } = watch(chain);
  await chain.activate(alice, 10_000_000_000_000n);
  await chain.activate(alice, 1n);
  await chain.activate(bob, 1n);
  await chain.finalize();
  assert.equal((await drain()).outcome, "advanced");
  assert.deepEqual([await balance(alice), await balance(bob)], [MAX_NANO_USD, 1_000]);
  assert.deepEqual(alerts, []);
});

test("a contract that is not there is waited for, and nothing counts as read up to the end", async () => {
  const { watcher, alerts, clock } = watch(chain, { settlement: bob });
  assert.equal((await watcher.poll()).outcome, "waiting");
  assert.match(watcher.status().reason ?? "", /there is no settlement contract at 0x0+b0b/);
  assert.deepEqual(alerts, []);
  clock.skewMs = 180_000;
  await watcher.poll();
  await watcher.poll();
  assert.equal(alerts.length, 1);
  assert.equal(watcher.status().state, "starting");
});

test("polls at the same time are one poll", async () => {
  const { watcher, ledger } = watch(chain);
  await chain.finalize();
  const [first, second] = await Promise.all([watcher.poll(), watcher.poll()]);
  assert.equal(first, second);
  assert.equal(ledger.applied.filter(({ type }) => type === "advance").length, 1);
});

test("a chain that makes no blocks is told of, once", async () => {
  const { watcher, alerts, clock } = watch(chain, { stalledAfterMs: 60_000 });
  await chain.finalize();
  await watcher.poll();
  assert.deepEqual(alerts, []);
  clock.skewMs = 7_200_000;
  await watcher.poll();
  await watcher.poll();
  assert.equal(alerts.length, 1);
  assert.match(alerts[0] ?? "", /no block since \d+, 7\d{3} s ago/);
});
