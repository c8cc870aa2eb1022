import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { makeSemaphore } from "./semaphore.ts";

/** A semaphore, and work in it that goes on until the test says so. */
function open(limits: { atOnce: number; each?: number }) {
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
