import assert from "node:assert/strict";
import { test } from "node:test";
import { keepPolling } from "./polling.ts";
import type { PollResult } from "./settlement-watcher.ts";

/** Timers that run when told to. */
function manualTimers() {
  const waiting: { ms: number; callback: () => void }[] = [];
  return {
    waiting,
    after(ms: number, callback: () => void) {
      const timer = { ms, callback };
      waiting.push(timer);
      return { cancel: () => void waiting.splice(waiting.indexOf(timer), 1) };
    },
    async fire(): Promise<number | undefined> {
      const timer = waiting.shift();
      timer?.callback();
      await new Promise(setImmediate);
      return timer?.ms;
    },
  };
}

function script(results: PollResult[]) {
  let polls = 0;
  return {
    get polls() {
      return polls;
    },
    poll: async () => results[polls++] ?? { outcome: "idle" as const },
  };
}
const advanced = (more: boolean): PollResult => ({ outcome: "advanced", block: 1, activations: 0, more });

test("polls at once while there is more, at the interval otherwise, and not after a halt", async () => {
  const timers = manualTimers();
  const watcher = script([
    advanced(true),
    advanced(false),
    { outcome: "waiting", reason: "" },
    { outcome: "halted", reason: "" },
  ]);
  keepPolling({ watcher, timers, intervalMs: 4_000 });
  await new Promise(setImmediate);
  assert.deepEqual(
    [await timers.fire(), await timers.fire(), await timers.fire(), await timers.fire()],
    [0, 4_000, 4_000, undefined],
  );
  assert.equal(watcher.polls, 4);
});

test("stopping waits for the poll that runs and leaves no timer behind", async () => {
  const timers = manualTimers();
  let finish: (result: PollResult) => void = () => {};
  const watcher = { poll: () => new Promise<PollResult>((resolve) => (finish = resolve)) };
  const stop = keepPolling({ watcher, timers, intervalMs: 4_000 });
  let stopped = false;
  const stopping = stop().then(() => {
    stopped = true;
  });
  await new Promise(setImmediate);
  assert.equal(stopped, false);
  finish({ outcome: "idle" });
  await stopping;
  assert.deepEqual(timers.waiting, []);
});
