import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "./goals.ts";

test("a verdict needs a figure, and goal and floor count as reached", () => {
  const goal = { goal: 6, floor: 3 };
  assert.equal(verdict(undefined, goal), "not measured");
  assert.equal(verdict(6, goal), "reached");
  assert.equal(verdict(3, goal), "short of the goal");
  assert.equal(verdict(2.99, goal), "past the floor");
  assert.equal(verdict(2.99, { goal: 3, floor: 6 }), "reached", "less is better where the goal is below the floor");
  assert.equal(verdict(6.01, { goal: 3, floor: 6 }), "past the floor");
});
