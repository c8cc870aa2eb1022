import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { accountChooser, closedLoop } from "./closed-loop.ts";

test("no client has two pairs under way, and the loop ends by itself", async () => {
  let open = 0;
  let most = 0;
  let done = 0;
  const result = await closedLoop({
    clients: 5,
    accounts: 3,
    warmupSeconds: 0.05,
    seconds: 0.2,
    async pair(account) {
      assert.ok(account >= 0 && account < 3);
      open += 1;
      most = Math.max(most, open);
      await sleep(5);
      open -= 1;
      done += 1;
    },
  });
  assert.equal(most, 5);
  assert.equal(open, 0);
  assert.equal(result.allPairs, done);
  assert.ok(result.pairsPerSecond * 0.2 < done, "the warm-up is not counted");
  assert.ok((result.p50Ms ?? 0) >= 4);
  assert.ok((result.p99Ms ?? 0) >= (result.p50Ms ?? 0));
});

test("a pair that fails ends the run", async () => {
  const run = closedLoop({
    clients: 2,
    accounts: 1,
    warmupSeconds: 0,
    seconds: 5,
    pair: () => Promise.reject(new Error("refused")),
  });
  await assert.rejects(run, /refused/);
});

test("accounts are chosen evenly, by every client in its own order, the same each time", () => {
  const counts = new Array<number>(10).fill(0);
  for (let seed = 0; seed < 50; seed += 1) {
    const first = accountChooser(10, seed);
    const second = accountChooser(10, seed);
    for (let turn = 0; turn < 200; turn += 1) {
      const account = first();
      assert.equal(second(), account);
      counts[account] = (counts[account] ?? 0) + 1;
    }
  }
  for (const count of counts) assert.ok(Math.abs(count - 1000) < 150, `${counts}`);
});
