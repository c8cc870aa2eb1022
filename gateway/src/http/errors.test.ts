import assert from "node:assert/strict";
import { test } from "node:test";
import { errorMeanings } from "@inference/protocol/error-meanings";
import { errorDetail } from "./errors.ts";

test("a failure of ours, which may come after a charge, says where the charge is told, and not that there is none", () => {
  const { code, message } = errorDetail(new Error("x"));
  assert.equal(code, "internal_error");
  for (const text of [message, errorMeanings.internal_error]) {
    assert.doesNotMatch(text, /nothing/i);
    assert.match(text, /GET \/api\/v1\/generation/);
  }
});
