import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedMap } from "./bounded-map.ts";

test("never more entries than the maximum, and the one set longest ago goes first", () => {
  const map = new BoundedMap<number, string>(3);
  for (let key = 0; key < 100; key++) {
    map.set(key, String(key));
    assert.ok(map.size <= 3);
  }
  assert.deepEqual(
    [96, 97, 98, 99].map((key) => map.get(key)),
    [undefined, "97", "98", "99"],
  );
});

test("a key that is set again is the newest, and evicts nobody", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  assert.equal(map.size, 2);
  map.set("c", 4);
  assert.deepEqual([map.get("a"), map.has("b"), map.get("c")], [3, false, 4]);
});

test("reading makes nothing newer, and a deleted entry leaves room", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  assert.equal(map.has("a"), false);
  map.delete("b");
  map.set("d", 4);
  assert.deepEqual([map.has("c"), map.has("d")], [true, true]);
});
