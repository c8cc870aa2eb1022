import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../config.ts";
import { NOW, openFixture } from "../identity/testing/identity-fixture.ts";
import { startDeadline } from "./exchange.ts";

/** What a request's deadline waits for, when so much of its time has gone. */
function waitsFor(goneMs: number): number | undefined {
  const { gateway, time } = openFixture();
  const waits: number[] = [];
  gateway.environment.timers = {
    after(ms) {
      waits.push(ms);
      return { cancel: () => undefined };
    },
  };
  time.now = NOW + goneMs;
  startDeadline(gateway, { at: NOW, abort: new AbortController() }, null);
  return waits[0];
}

test("a request's time is counted from its admission, as its lease is", () => {
  assert.equal(waitsFor(0), limits.requestMs);
  assert.equal(waitsFor(15_000), limits.requestMs - 15_000);
  assert.equal(waitsFor(limits.requestMs + 5), 0);
  // A clock that was set back gives nobody more time than there is.
  assert.equal(waitsFor(-3_600_000), limits.requestMs);
});
