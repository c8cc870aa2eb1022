import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { FINALITY_DEPTH } from "./testing/anvil.ts";
import { openMemoryLedger } from "./testing/memory-ledger.ts";
import { startPrimaryChain } from "./testing/primary-chain.ts";
import { alice, bob, watch } from "./testing/watch.ts";

// A reorg needs the state of an old block, which the node forgets after some hundreds of blocks of other tests.
const chain = await startPrimaryChain();

beforeEach(async () => {
  await chain.reset();
  await chain.finalize();
});
after(() => chain.stop());

for (let depth = 1; depth <= FINALITY_DEPTH; depth += 1) {
  test(`a reorg of ${depth} blocks that moves an activation to another block credits it once`, async () => {
    const { drain, watcher, balance, alerts } = watch(chain);
    await chain.finalize();
    await drain();
    await chain.activate(alice, 5n);
    await chain.mine(depth - 1);
    await drain();
    const [before] = watcher.pendingActivations(alice);
    await chain.reorg(depth);
    await drain();
    assert.deepEqual(watcher.pendingActivations(alice), []);
    await chain.mine();
    await chain.activate(alice, 5n);
    await drain();
    const [again] = watcher.pendingActivations(alice);
    assert.ok(before !== undefined && again !== undefined && again.block > before.block);
    assert.equal(await balance(alice), 0);
    await chain.finalize();
    await drain();
    await chain.finalize();
    await drain();
    assert.equal(await balance(alice), 5_000);
    assert.deepEqual(alerts, []);
  });
}

test("an activation that a reorg drops is never credited, and the next one takes its number", async () => {
  const { drain, balance, alerts } = watch(chain);
  await chain.activate(alice, 5n);
  await chain.mine(3);
  await drain();
  await chain.reorg(4);
  await chain.activate(bob, 6n);
  await chain.finalize();
  await drain();
  assert.equal(await balance(alice), 0);
  assert.equal(await balance(bob), 6_000);
  assert.deepEqual(alerts, []);
});

test("a reorg of final blocks stops the watcher, also after a restart", async () => {
  const { drain, watcher, balance, alerts, ledger } = watch(chain);
  await chain.activate(alice, 5n);
  await chain.finalize();
  await drain();
  const { block } = watcher.status();
  await chain.reorg(FINALITY_DEPTH + 1);
  await chain.activate(bob, 6n);
  await chain.finalize();
  const result = await watcher.poll();
  assert.equal(result.outcome, "halted");
  assert.equal(watcher.status().state, "halted");
  assert.match(alerts.join(), new RegExp(`the chain at block ${block} is not the one we read`));
  assert.equal(alerts.length, 1);
  await watcher.poll();
  assert.equal(alerts.length, 1);

  const restarted = watch(chain, { ledger });
  assert.equal((await restarted.drain()).outcome, "halted");
  assert.equal(await balance(alice), 5_000);
  assert.equal(await balance(bob), 0);
});

test("books that are ahead of a fresh chain stop the watcher", async () => {
  const first = watch(chain);
  await chain.mine(100);
  await first.drain();
  await chain.reset();
  await chain.mine(20);
  const second = watch(chain, { ledger: first.ledger });
  assert.equal((await second.drain()).outcome, "waiting");
  second.clock.skewMs = 16_000;
  assert.equal((await second.drain()).outcome, "halted");
  assert.match(second.alerts.join(), /our books are ahead of the chain: they go to block \d+, the chain to \d+/);
});

test("a node that has stood still below our books is waited for", async () => {
  const first = watch(chain);
  await chain.mine(100);
  await first.drain();
  await chain.reset();
  const second = watch(chain, { ledger: first.ledger });
  for (const skewMs of [600_000, 660_000, 700_000]) {
    second.clock.skewMs = skewMs;
    const result = await second.watcher.poll();
    assert.ok(result.outcome === "waiting" && result.reason.startsWith("the node is behind"));
  }
  assert.deepEqual(second.alerts, []);
});

test("books of another chain with the same number stop the watcher", async () => {
  const first = watch(chain);
  await chain.mine(20);
  await first.drain();
  await chain.reset();
  await chain.activate(alice, 5n);
  await chain.mine(40);
  const second = watch(chain, { ledger: first.ledger });
  assert.equal((await second.drain()).outcome, "halted");
  assert.equal(await second.balance(alice), 0);
});

test("an empty database reads the whole chain", async () => {
  await chain.activate(alice, 5n);
  await chain.mine(30);
  await chain.activate(alice, 6n);
  await chain.finalize();
  const { drain, balance, watcher } = watch(chain, { ledger: openMemoryLedger() });
  await drain();
  assert.equal(watcher.status().state, "following");
  assert.equal(await balance(alice), 11_000);
});
