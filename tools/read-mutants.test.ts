import assert from "node:assert/strict";
import { test } from "node:test";
import { readMutants } from "./read-mutants.ts";

test("every mutant of docs/testing.md can be applied, and has a number of its own", () => {
  const numbers = readMutants().map(({ number }) => number);
  assert.ok(numbers.length > 40);
  assert.equal(new Set(numbers).size, numbers.length);
});

test("a row that cannot be read, and a line that its file no longer has, are told", () => {
  assert.throws(() => readMutants("| 1 | `tools/count.ts` | `a` |"), /No mutant can be read/);
  assert.throws(() => readMutants("| 1 | `tools/count.ts` | `no such line` | `b` | `tools` |"), /Mutant 1: .* 0 times/);
});
