import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { inTurn } from "./in-turn.ts";
import { makeSlicedWork } from "./sliced-work.ts";

const slicedWork = makeSlicedWork({
  after(_ms, callback) {
    const timer = setImmediate(callback);
    return { cancel: () => clearImmediate(timer) };
  },
});

test("what waits for a turn is begun by the request that waited, whoever's timer the turn came with", async () => {
  const request = new AsyncLocalStorage<number>();
  const requests = Array.from({ length: 8 }, (_, index) => index);
  const begunBy = await Promise.all(
    requests.map((index) =>
      request.run(index, () => inTurn(slicedWork, `owner ${index % 3}`, () => request.getStore())),
    ),
  );
  assert.deepEqual(begunBy, requests);
});

test("one is begun in each turn of the event loop, however many wait", async () => {
  let begun = 0;
  const all = Promise.all(Array.from({ length: 40 }, (_, index) => inTurn(slicedWork, `${index}`, () => ++begun)));
  while (begun < 40) {
    const before = begun;
    await new Promise<void>((resolve) => setImmediate(resolve));
    assert.ok(begun - before <= 1, `${begun - before} in a turn`);
  }
  await all;
});

test("what fails when it is begun fails for whoever waited", async () => {
  const failed = inTurn(slicedWork, "a", () => Promise.reject(new Error("wrong")));
  await assert.rejects(failed, /wrong/);
});
