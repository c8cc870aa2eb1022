import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import type { Timers } from "@inference/protocol/timers";
import { makeFairQueue } from "./fair-queue.ts";

/**
 * A queue whose waiting ends when the test says so, and the order in which requests got in.
 *
 * @param options.cancels False: cancelled timers call back all the same.
 */
function open(limit: { atOnce: number; waiting: number; waitingEach?: number }, { cancels = true } = {}) {
  const timeouts = new Set<() => void>();
  const timers: Timers = {
    after(_ms, callback) {
      timeouts.add(callback);
      return { cancel: () => void (cancels && timeouts.delete(callback)) };
    },
  };
  const queue = makeFairQueue({ waitingEach: 100, ...limit, waitMs: 1_000 }, timers);
  const order: string[] = [];
  return {
    queue,
    order,
    timeouts,
    ask(name: string, { model = "m", gone = null as AbortSignal | null } = {}): void {
      const account = name.slice(0, 1);
      try {
        const room = queue.enter(model, account, gone);
        if (room === undefined) order.push(name);
        else {
          room.then(
            () => order.push(name),
            (error: unknown) => order.push(`${name} ${isCrowded(error)}`),
          );
        }
      } catch (error) {
        order.push(`${name} ${isCrowded(error)}`);
      }
    },
    async leave(times: number, model = "m"): Promise<void> {
      for (let left = times; left > 0; left--) {
        queue.leave(model);
        await Promise.resolve();
      }
    },
  };
}

function isCrowded(error: unknown): string {
  assert.ok(error instanceof GatewayError && error.detail.code === "rate_limited" && error.detail.retryAfterS === 5);
  return "429";
}

test("as many as there is room for get in at once, as many may wait, and one more is 429", async () => {
  const { queue, order, ask, leave } = open({ atOnce: 2, waiting: 3 });
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) ask(name);
  assert.deepEqual(order, ["a1", "a2", "a6 429"]);
  assert.equal(queue.waiting(), 3);
  await leave(3);
  assert.deepEqual(order.slice(3), ["a3", "a4", "a5"]);
});

test("one account fills its own line and leaves room in the queue for others", () => {
  const { queue, order, ask } = open({ atOnce: 1, waiting: 4, waitingEach: 2 });
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2"]) ask(name);
  assert.deepEqual([order, queue.waiting()], [["a1", "a4 429"], 4]);
});

test("who comes to a full queue takes the place of the newest in the longest line, if that is longer than their own", async () => {
  const { queue, order, ask, leave } = open({ atOnce: 1, waiting: 4 });
  for (const name of ["x1", "a1", "a2", "a3", "b1"]) ask(name);
  for (const name of ["c1", "a4", "b2", "c2", "d1"]) {
    ask(name);
    await Promise.resolve();
    assert.equal(queue.waiting(), 4);
  }
  // Lines of one and two are left: who has one of their own already gains nothing by another's.
  assert.deepEqual(order, ["x1", "a3 429", "a4 429", "b2 429", "c2 429", "a2 429"]);
  await leave(5);
  assert.deepEqual(order.slice(-4), ["a1", "b1", "c1", "d1"]);
});

test("a thousand requests of one account keep nobody else out of the queue", async () => {
  const { order, ask, leave } = open({ atOnce: 1, waiting: 32, waitingEach: 32 });
  for (let left = 1_000; left > 0; left--) ask(`a${left}`);
  ask("b1");
  await leave(2);
  assert.deepEqual(
    order.filter((name) => !name.endsWith("429")),
    ["a1000", "a999", "b1"],
  );
});

test("only where a request would have to wait there is no room to take", async () => {
  const { queue, ask, leave } = open({ atOnce: 2, waiting: 1 });
  ask("a1");
  assert.equal(queue.tryEnter("m"), true);
  ask("a3");
  assert.deepEqual([queue.tryEnter("m"), queue.tryEnter("n")], [false, true]);
  await leave(2);
  assert.equal(queue.tryEnter("m"), true);
});

test("accounts take turns, however many of one's requests wait", async () => {
  const { order, ask, leave } = open({ atOnce: 1, waiting: 100 });
  ask("x1");
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]) ask(name);
  await leave(2);
  ask("d1");
  await leave(10);
  assert.deepEqual(order, ["x1", "a1", "b1", "c1", "a2", "b2", "d1", "a3", "a4"]);
});

test("room that nobody waited for is there again, and never more than there was", async () => {
  const { order, ask, leave } = open({ atOnce: 1, waiting: 1 });
  for (let round = 1; round <= 3; round++) {
    ask(`a${round}`);
    ask(`b${round}`);
    ask(`c${round}`);
    await leave(2);
  }
  assert.deepEqual(order, ["a1", "c1 429", "b1", "a2", "c2 429", "b2", "a3", "c3 429", "b3"]);
});

test("models do not wait for one another", () => {
  const { order, ask } = open({ atOnce: 1, waiting: 0 });
  for (const [name, model] of [
    ["a1", "m"],
    ["a2", "m"],
    ["a3", "n"],
  ] as const)
    ask(name, { model });
  assert.deepEqual(order, ["a1", "a2 429", "a3"]);
});

test("who has waited long enough, or has gone, is out of the line and holds no room", async () => {
  const { queue, order, ask, leave, timeouts } = open({ atOnce: 1, waiting: 3 });
  const gone = new AbortController();
  ask("a1");
  ask("a2");
  ask("b1", { gone: gone.signal });
  ask("c1");
  for (const timeout of [...timeouts].slice(0, 1)) timeout();
  gone.abort();
  await Promise.resolve();
  assert.deepEqual([order, queue.waiting()], [["a1", "a2 429", "b1 429"], 1]);
  await leave(1);
  assert.deepEqual([order.at(-1), queue.waiting(), timeouts.size], ["c1", 0, 0]);
  await leave(1);
  ask("d1");
  assert.equal(order.at(-1), "d1");
});

test("a timer that fires after its request got in, or gave up, changes nothing for those who wait", async () => {
  const { queue, order, ask, leave, timeouts } = open({ atOnce: 1, waiting: 2 }, { cancels: false });
  const gone = new AbortController();
  ask("a1");
  ask("a2");
  ask("b1", { gone: gone.signal });
  gone.abort();
  await leave(1);
  ask("a3");
  assert.deepEqual([order, queue.waiting()], [["a1", "b1 429", "a2"], 1]);
  const [ofA2, ofB1] = [...timeouts];
  ofA2?.();
  ofB1?.();
  await Promise.resolve();
  assert.equal(queue.waiting(), 1);
  ask("c1");
  ask("c2");
  assert.deepEqual([order.at(-1), queue.waiting()], ["c2 429", 2], "as many as may wait, and no more");
  await leave(2);
  assert.deepEqual([order.slice(-2), queue.waiting()], [["a3", "c1"], 0]);
  for (const late of timeouts) late();
  await leave(1);
  ask("d1");
  assert.equal(order.at(-1), "d1");
});
