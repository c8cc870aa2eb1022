import assert from "node:assert/strict";
import { test } from "node:test";
import { joined } from "./joined.ts";

test("a call during a run joins it, and the next one runs again, also after a failure", async () => {
  let runs = 0;
  const call = joined(async () => {
    runs += 1;
    if (runs === 2) throw new Error("failed");
    return runs;
  });
  assert.deepEqual(await Promise.all([call(), call()]), [1, 1]);
  const failed = [call(), call()];
  for (const each of failed) await assert.rejects(each, /failed/);
  assert.deepEqual([await call(), runs], [3, 3]);
});
