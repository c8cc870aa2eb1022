import assert from "node:assert/strict";
import { test } from "node:test";
import { createChainClient } from "./rpc.ts";
import { openMemoryLedger } from "./testing/memory-ledger.ts";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { timers } from "./testing/timers.ts";
import { alice, bob, clientOf, watch } from "./testing/watch.ts";

beginAnew();

async function activateSome(): Promise<void> {
  await chain.activate(alice, 1n);
  await chain.activateTwice(bob, 10n);
  await chain.mine(3);
  await chain.activate(alice, 100n);
  await chain.finalize();
}

test("a restart between any two polls loses and doubles nothing", async () => {
  await activateSome();
  const ledger = openMemoryLedger();
  for (let count = 0; count < 100; count += 1) {
    const fresh = watch(chain, { ledger, maxBlocks: 1 });
    if ((await fresh.watcher.poll()).outcome === "idle") break;
  }
  const { balance, watcher } = watch(chain, { ledger });
  assert.equal((await watcher.poll()).outcome, "idle");
  assert.equal(await balance(alice), 101_000);
  assert.equal(await balance(bob), 20_000);
});

test("a crash between the commit and its deliveries loses and doubles nothing", async () => {
  await activateSome();
  const { drain, ledger, balance } = watch(chain);
  ledger.crashing = true;
  assert.equal((await drain()).outcome, "waiting");
  assert.equal(await balance(alice), 0);
  ledger.recover();
  const restarted = watch(chain, { ledger });
  await restarted.drain();
  assert.equal(await restarted.balance(alice), 101_000);
  assert.equal(await restarted.balance(bob), 20_000);
  assert.deepEqual(restarted.alerts, []);
});

test("a process that dies at any of a poll's questions leaves books that the next one goes on from", async () => {
  await activateSome();
  const questions = await countQuestions();
  assert.ok(questions > 5);
  for (let deadline = 1; deadline <= questions; deadline += 1) {
    const ledger = openMemoryLedger();
    let asked = 0;
    const dying = createChainClient({
      url: chain.rpcUrl,
      random: () => 0,
      timers,
      tries: 1,
      fetch: (...request) => (++asked > deadline ? Promise.reject(new Error("dead")) : fetch(...request)),
    });
    await watch(chain, { ledger, client: dying }).watcher.poll();
    const { drain, balance } = watch(chain, { ledger });
    await drain();
    assert.deepEqual([await balance(alice), await balance(bob)], [101_000, 20_000], `dead after ${deadline} questions`);
  }
});

test("two watchers over the same books credit once, and the slower one goes on where the faster one is", async () => {
  await activateSome();
  const ledger = openMemoryLedger();
  const faster = watch(chain, { ledger });
  const overtaken: typeof ledger = {
    ...ledger,
    async run(saga) {
      await faster.drain();
      return ledger.run(saga);
    },
  };
  const slower = watch(chain, { ledger: overtaken, maxBlocks: 3 });
  assert.equal((await slower.drain()).outcome, "waiting");
  assert.equal((await slower.drain()).outcome, "idle");
  assert.equal(faster.watcher.status().state, "following");
  assert.equal(slower.watcher.status().state, "following");
  assert.equal(await faster.balance(alice), 101_000);
  assert.deepEqual([...faster.alerts, ...slower.alerts], []);
});

async function countQuestions(): Promise<number> {
  const client = clientOf(chain.rpcUrl);
  let count = 0;
  const counting: typeof client = {
    request(...question) {
      count += 1;
      return client.request(...question);
    },
  };
  await watch(chain, { client: counting }).watcher.poll();
  return count;
}
