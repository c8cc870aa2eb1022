import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import type { Timers } from "@inference/protocol/timers";
import { makeSemaphore, type SemaphoreLimits } from "./semaphore.ts";

/** Time stands still. */
const idle: Timers = { after: () => ({ cancel: () => undefined }) };

/** A semaphore, and work in it that goes on until the test says so. */
function open(limits: SemaphoreLimits) {
  const semaphore = makeSemaphore(limits, "tests");
  const ends: (() => void)[] = [];
  return {
    /** False if it was refused. */
    async enter(client?: string): Promise<boolean> {
      let isIn = true;
      semaphore(() => new Promise<void>((resolve) => ends.push(resolve)), client).catch((error: unknown) => {
        assert.ok(
          error instanceof GatewayError && error.detail.code === "overloaded" && error.detail.retryAfterS === 1,
        );
        isIn = false;
      });
      await new Promise((resolve) => setImmediate(resolve));
      return isIn;
    },
    async end(): Promise<void> {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("so much is under way at once, and one more is refused until one of it ends", async () => {
  const { enter, end } = open({ atOnce: 2 });
  assert.deepEqual([await enter(), await enter("a"), await enter()], [true, true, false]);
  await end();
  assert.deepEqual([await enter("a"), await enter()], [true, false]);
});

test("one client has a part of it, and the others have the rest", async () => {
  const { enter, end } = open({ atOnce: 4, each: 2 });
  assert.deepEqual([await enter("a"), await enter("a"), await enter("a")], [true, true, false]);
  assert.deepEqual([await enter("b"), await enter("b"), await enter("c")], [true, true, false]);
  await end();
  assert.deepEqual([await enter("b"), await enter("a"), await enter("a")], [false, true, false]);
});

test("work that fails leaves room like any other, and nobody whose client is unknown shares a part", async () => {
  const semaphore = makeSemaphore({ atOnce: 3, each: 1 }, "tests");
  for (let left = 5; left > 0; left--) {
    await assert.rejects(
      semaphore(() => Promise.reject(new Error("no")), "a"),
      /no/,
    );
  }
  const forever = () => new Promise<never>(() => undefined);
  for (let left = 3; left > 0; left--) void semaphore(forever);
  await assert.rejects(semaphore(forever), GatewayError);
});

test("clients that fill it keep no other out: it waits, one piece of work each, and is next", async () => {
  const semaphore = makeSemaphore({ atOnce: 32, each: 4, waiting: { most: 64, ms: 10_000, timers: idle } }, "tests");
  const running: string[] = [];
  const ends: (() => void)[] = [];
  const refused: string[] = [];
  const ask = async (client: string): Promise<void> => {
    const work = () => {
      running.push(client);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    semaphore(work, client).catch(() => refused.push(client));
    await new Promise((resolve) => setImmediate(resolve));
  };
  const strangers = Array.from({ length: 8 }, (_, index) => `stranger ${index}`);
  for (const each of strangers) for (let n = 0; n < 5; n++) await ask(each);
  assert.deepEqual([running.length, refused], [32, strangers], "each has four");
  await ask("ninth");
  await ask("ninth");
  assert.deepEqual([running.includes("ninth"), refused.at(-1)], [false, "ninth"]);
  for (const each of strangers) await ask(each);
  assert.equal(refused.length, 17, "no stranger with work in progress waits too");
  ends.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(running.at(-1), "ninth");
  for (let n = 0; n < 65; n++) await ask(`late ${n}`);
  assert.deepEqual(refused.slice(17), ["late 64"], "64 wait at most");
  while (ends.length > 0) {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(running.length, 32 + 1 + 64, "all had their turn");
  for (let n = 0; n < 4; n++) await ask("ninth");
  assert.deepEqual([running.length, refused.length], [101, 18], "nothing is left of it");
});

test("work that has no turn in time is refused, and takes no place from the next one", async () => {
  let expire = (): void => undefined;
  const timers: Timers = {
    after(_, callback) {
      expire = callback;
      return { cancel: () => undefined };
    },
  };
  const semaphore = makeSemaphore({ atOnce: 1, waiting: { most: 2, ms: 10_000, timers } }, "tests");
  const { promise: first, resolve: end } = Promise.withResolvers<void>();
  const busy = semaphore(() => first, "a");
  // At the edge the Worker of a client that left has ended by then: nothing of its work runs.
  const late = assert.rejects(
    semaphore(() => assert.fail("it runs too late"), "gone"),
    GatewayError,
  );
  expire();
  await late;
  const next = semaphore(() => Promise.resolve("served"), "b");
  end();
  await busy;
  assert.deepEqual([await next, await semaphore(() => Promise.resolve("free"), "gone")], ["served", "free"]);
});
