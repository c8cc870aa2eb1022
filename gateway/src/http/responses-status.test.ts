import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, errorTable } from "@inference/protocol/errors";
import { responsesStatus, responsesStatuses } from "./responses-status.ts";

test("a 429 that ends within seconds is a 503, one that takes longer stays, and no other status changes", () => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const { status } = errorTable[code];
    assert.equal(responsesStatus(code, true), status === 429 ? 503 : status, code);
    assert.equal(responsesStatus(code, false), status, code);
    assert.deepEqual(responsesStatuses(code), status === 429 ? [503, 429] : [status], code);
  }
});
