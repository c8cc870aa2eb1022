import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCpuTicks } from "./cpu.ts";

test("processor time is read behind a name with spaces and parentheses", () => {
  const stat = "12 (a) b (c) S 1 12 12 0 -1 4194304 100 0 0 0 70 8 5 6 20 0 1 0 1000 1000 10";
  assert.equal(parseCpuTicks(stat), 78);
  assert.throws(() => parseCpuTicks("12 (a) S 1"));
});
