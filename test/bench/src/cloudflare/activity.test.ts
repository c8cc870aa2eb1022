import assert from "node:assert/strict";
import { test } from "node:test";
import { activity } from "./activity.ts";

test("calls at once to one object are counted once, and each object by itself", () => {
  let now = 0;
  const added: [string, number][] = [];
  const { begin } = activity(
    () => now,
    (kind, ms) => added.push([kind, ms]),
  );
  const first = begin("account", "a");
  now = 3;
  const second = begin("account", "a");
  const other = begin("ceiling", "c");
  now = 5;
  first();
  assert.deepEqual(added, [], "it is still at work");
  now = 9;
  second();
  now = 10;
  other();
  now = 20;
  begin("account", "a")();
  assert.deepEqual(added, [
    ["account", 9],
    ["ceiling", 7],
    ["account", 0],
  ]);
});
