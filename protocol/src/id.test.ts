import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isRequestId, makeRequestId } from "./id.ts";

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const random = fc.uint8Array({ minLength: 10, maxLength: 10 });

test("a new id is an id", () => {
  fc.assert(fc.property(time, random, (at, bytes) => assert.ok(isRequestId(makeRequestId(at, bytes)))));
});

test("ids sort by time, and differ by their randomness", () => {
  fc.assert(
    fc.property(time, time, random, random, (one, other, some, more) => {
      const [a, b] = [makeRequestId(one, some), makeRequestId(other, more)];
      if (one !== other) assert.equal(a < b, one < other);
      else
        assert.equal(
          a === b,
          some.every((byte, index) => byte === more[index]),
        );
    }),
  );
});

test("other texts are no ids", () => {
  const id = makeRequestId(1_800_000_000_000, new Uint8Array(10));
  const wrong = [
    "",
    "req_",
    id.slice(1),
    id.slice(0, -1),
    `${id}0`,
    `${id}\n`,
    ` ${id}`,
    id.toUpperCase(),
    id.replace("req_", "rep_"),
    `${id.slice(0, -1)}1`,
    `${id.slice(0, -1)}i`,
  ];
  for (const text of wrong) assert.equal(isRequestId(text), false, JSON.stringify(text));
});
