import assert from "node:assert/strict";
import { test } from "node:test";
import { errorMeanings } from "./error-meanings.ts";
import { errorTable } from "./errors.ts";

test("every code has a sentence of its own, which says what happened and, behind a colon, what to do", () => {
  assert.deepEqual(Object.keys(errorMeanings).sort(), Object.keys(errorTable).sort());
  for (const [code, sentence] of Object.entries(errorMeanings)) {
    assert.match(sentence, /^[A-Z][^:]{10,}: .{10,}\.$/, code);
    assert.ok(sentence.length < 160, `${code} has ${sentence.length} characters`);
  }
  assert.equal(new Set(Object.values(errorMeanings)).size, Object.keys(errorTable).length);
});
