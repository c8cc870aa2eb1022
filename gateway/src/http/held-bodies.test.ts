import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { makeHeldBodies } from "./held-bodies.ts";

function isOverloaded(error: unknown): boolean {
  return error instanceof GatewayError && error.detail.code === "overloaded" && error.detail.retryAfterS === 2;
}

test("bodies fit together or are refused, and what is refused takes nothing", () => {
  const bodies = makeHeldBodies(100);
  const [first, second] = [bodies.open(), bodies.open()];
  first.take(60);
  second.take(40);
  assert.throws(() => second.take(1), isOverloaded);
  first.release();
  second.take(60);
  assert.throws(() => first.take(1), isOverloaded);
});

test("a body is given back once", () => {
  const bodies = makeHeldBodies(100);
  const [first, second] = [bodies.open(), bodies.open()];
  first.take(100);
  first.release();
  first.release();
  second.take(100);
  assert.throws(() => first.take(1), isOverloaded);
});
