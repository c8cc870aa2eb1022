import assert from "node:assert/strict";
import { test } from "node:test";
import { openFixture } from "../../test/identity-fixture.ts";
import { startJobs } from "./jobs.ts";

test("stopping waits for a job that is running, and none begins after it", async () => {
  const { gateway, ledger } = openFixture();
  let begun = 0;
  let finish: (() => void) | undefined;
  ledger.lapsedHolds = () => {
    begun += 1;
    return new Promise((resolve) => {
      finish = () => resolve([]);
    });
  };
  const stop = await startJobs(gateway, [], { sweepMs: 1 });
  while (finish === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
  let stopped = false;
  const stopping = stop().then(() => {
    stopped = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(stopped, false);
  finish();
  await stopping;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(begun, 1);
});
