import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import type { Timers } from "@inference/protocol/timers";
import type { OperatorConfig } from "../config.ts";
import { makeFailureBudget } from "./failure-budget.ts";
import { type Answered, makeFairQueue, type Turn } from "./fair-queue.ts";
import { makePace } from "./pace.ts";

const KEY = "the provider's key";
const served: Answered = { failure: null, rate: null, blockedMs: null };
const failed: Answered = { ...served, failure: "request" };

type Limits = { atOnce: number; waiting: number; waitingEach?: number };
type Options = { cancels?: boolean; failures?: OperatorConfig["failures"] };

/**
 * A queue whose waiting ends when the test says so, and the order in which requests got in.
 *
 * @param options.cancels False: cancelled timers call back all the same.
 */
function open(limit: Limits, { cancels = true, failures = null }: Options = {}) {
  const timeouts = new Set<() => void>();
  const delays = new Map<() => void, number>();
  const clock = { time: 0, now: () => clock.time };
  const timers: Timers = {
    after(ms, callback) {
      timeouts.add(callback);
      delays.set(callback, ms);
      return { cancel: () => void (cancels && timeouts.delete(callback)) };
    },
  };
  const budgets = { failures: makeFailureBudget(failures, clock), pace: makePace(clock) };
  const queue = makeFairQueue({ waitingEach: 100, ...limit, waitMs: 1_000 }, timers, budgets);
  const order: string[] = [];
  /** In the order in which they were given. */
  const turns: { name: string; model: string; turn: Turn }[] = [];
  return {
    clock,
    queue,
    order,
    timeouts,
    /** Calls back the timer with this delay. */
    fire(ms: number): void {
      const callback = [...timeouts].find((each) => delays.get(each) === ms) ?? assert.fail(`no timer of ${ms} ms`);
      callback();
    },
    ask(name: string, { model = "m", gone = null as AbortSignal | null, key = KEY } = {}): void {
      const enters = (turn: Turn): void => {
        order.push(name);
        turns.push({ name, model, turn });
      };
      try {
        const turn = queue.enter({ account: name.slice(0, 1), key, model }, gone);
        if (turn instanceof Promise) turn.then(enters, (error: unknown) => order.push(`${name} ${isCrowded(error)}`));
        else enters(turn);
      } catch (error) {
        order.push(`${name} ${isCrowded(error)}`);
      }
    },
    /** The oldest turns of the model end. */
    async leave(times: number, model = "m"): Promise<void> {
      for (let left = times; left > 0; left--) {
        const at = turns.findIndex((given) => given.model === model);
        if (at >= 0) turns.splice(at, 1)[0]?.turn.leave();
        await Promise.resolve();
      }
    },
    /** The provider answers a request. */
    async answer(name: string, answer: Answered = served): Promise<void> {
      turns.find((given) => given.name === name)?.turn.answered(answer);
      await Promise.resolve();
    },
  };
}

function isCrowded(error: unknown): string {
  assert.ok(error instanceof GatewayError && error.detail.code === "rate_limited");
  const { retryAfterS } = error.detail;
  return retryAfterS === 5 ? "429" : `429 in ${retryAfterS} s`;
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

test("a request waits for the reset of its own key, also behind a request with another key", async () => {
  const failures = { most: 3, windowMs: 30_000 };
  const { clock, order, ask, answer, fire } = open({ atOnce: 10, waiting: 10 }, { failures });
  ask("b1", { key: "another key" });
  await answer("b1", { ...served, rate: { limit: 1, remaining: 0, resetMs: 900 } });
  // The account's part of the failures is used up by requests without an answer: time alone does not help.
  for (const name of ["a1", "a2", "a3"]) ask(name);
  ask("b2", { key: "another key" });
  assert.deepEqual(order, ["b1", "a1", "a2"]);
  clock.time = 900;
  fire(900);
  await Promise.resolve();
  assert.equal(order.at(-1), "b2");
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
  const hasTurn = (model = "m"): boolean => queue.tryEnter({ account: "b", key: KEY, model }) !== null;
  ask("a1");
  assert.ok(hasTurn());
  ask("a3");
  assert.deepEqual([hasTurn(), hasTurn("n")], [false, true]);
  await leave(2);
  assert.ok(hasTurn());
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

const budget = { most: 6, windowMs: 30_000 };

test("an account has two thirds of the failures without an answer, and its next request has an answer's turn", async () => {
  const { queue, order, ask, answer } = open({ atOnce: 100, waiting: 100 }, { failures: budget });
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6", "b1"]) ask(name);
  ask("a7", { model: "n" });
  assert.deepEqual([order, queue.waiting()], [["a1", "a2", "a3", "a4", "b1"], 3]);
  await answer("a3");
  await answer("b1");
  assert.deepEqual(order.slice(5), ["a5"]);
  await answer("a5", failed);
  assert.equal(order.length, 6, "a failure makes no room");
  await answer("a2");
  await answer("a1");
  assert.deepEqual(order.slice(6), ["a6", "a7"]);
});

test("an account that failed too often waits no longer, and others are served", async () => {
  const { clock, order, ask, answer } = open({ atOnce: 100, waiting: 100 }, { failures: budget });
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) ask(name);
  clock.time = 1_000;
  for (const name of ["a1", "a2", "a3", "a4"]) await answer(name, failed);
  ask("a6");
  ask("b1");
  assert.deepEqual(order.slice(4), ["a5 429 in 30 s", "a6 429 in 30 s", "b1"]);
  clock.time = 31_000;
  ask("a7");
  assert.equal(order.at(-1), "a7");
});

test("a model whose requests are used up waits for the provider's reset, and other models do not", async () => {
  const { clock, queue, order, ask, answer, fire } = open({ atOnce: 100, waiting: 100 });
  for (const name of ["a1", "a2", "b1"]) ask(name);
  // a2 and b1 were sent after a1, so the provider has one request left of the three that it said.
  await answer("a1", { ...served, rate: { limit: 2, remaining: 3, resetMs: 900 } });
  for (const name of ["a3", "a4", "b2", "c1"]) ask(name);
  ask("a5", { model: "n" });
  assert.deepEqual([order.slice(3), queue.waiting()], [["a3", "a5"], 3]);
  clock.time = 900;
  fire(900);
  await Promise.resolve();
  assert.deepEqual([order.slice(5), queue.waiting()], [["a4", "b2"], 1]);
});

test("a request that would wait for the provider's reset for too long is refused with the time", async () => {
  const { order, ask, answer } = open({ atOnce: 100, waiting: 100 });
  ask("a1");
  await answer("a1", { ...served, rate: { limit: 1, remaining: 0, resetMs: 42_000 } });
  ask("b1");
  assert.deepEqual(order, ["a1", "b1 429 in 42 s"]);
});
