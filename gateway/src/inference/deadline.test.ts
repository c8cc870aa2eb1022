import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, openFixture } from "../../test/identity-fixture.ts";
import { defaultRequestLimits, limits } from "../config.ts";
import { startDeadline } from "./deadline.ts";

/** The waits of a request's deadline in their order, after this much of its time. */
function waitsFor(goneMs: number, { streams = false, fires = 0 } = {}): { waits: number[]; isOver: boolean } {
  const { gateway, time } = openFixture();
  const waits: { ms: number; callback(): void }[] = [];
  gateway.environment.timers = {
    after(ms, callback) {
      waits.push({ ms, callback });
      return { cancel: () => undefined };
    },
  };
  time.now = NOW + goneMs;
  let isOver = false;
  startDeadline(gateway, {
    at: NOW,
    clientGone: null,
    isStreaming: streams,
    abort() {
      isOver = true;
    },
  });
  for (let index = 0; index < fires; index += 1) waits[index]?.callback();
  return { waits: waits.map(({ ms }) => ms), isOver };
}

const { answerMs } = defaultRequestLimits;

test("an answer that has not come in its time is given up, and a stream that has begun is not", () => {
  assert.deepEqual(waitsFor(0), { waits: [answerMs], isOver: false });
  assert.deepEqual(waitsFor(0, { fires: 1 }), { waits: [answerMs], isOver: true });
  const rest = limits.requestMs - answerMs;
  assert.deepEqual(waitsFor(0, { fires: 1, streams: true }), { waits: [answerMs, rest], isOver: false });
  assert.deepEqual(waitsFor(0, { fires: 2, streams: true }), { waits: [answerMs, rest], isOver: true });
});

test("a request's time is counted from its admission, as its lease is", () => {
  const late = limits.requestMs - answerMs + 1;
  assert.deepEqual(waitsFor(15_000, { fires: 1, streams: true }).waits, [
    answerMs,
    limits.requestMs - 15_000 - answerMs,
  ]);
  assert.deepEqual(waitsFor(late, { fires: 1, streams: true }), { waits: [answerMs - 1], isOver: true });
  assert.deepEqual(waitsFor(limits.requestMs + 5).waits, [0]);
  // A clock that was set back gives nobody more time than there is.
  assert.deepEqual(waitsFor(-3_600_000, { fires: 1, streams: true }).waits, [answerMs, limits.requestMs - answerMs]);
});
