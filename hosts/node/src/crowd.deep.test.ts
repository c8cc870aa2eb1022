import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Crowd, startCrowd } from "./testing/crowd.ts";

/** crowd.budget.ts measures the memory of more clients. */
const ACCOUNTS = 8;
const STREAMS_EACH = 25;

let crowd: Crowd;
before(async () => {
  crowd = await startCrowd(ACCOUNTS);
});
after(() => crowd?.stack.stop());

test("200 streams that stand still keep nobody waiting and leave nothing held", async () => {
  const sockets = crowd.accounts.flatMap((account) =>
    Array.from({ length: STREAMS_EACH }, () => crowd.openStream(account, "[[fault=stall]]")),
  );
  await eventually(() => sockets.every(({ bytesRead }) => bytesRead > 0));
  assert.equal(crowd.stack.gateway.live.size, ACCOUNTS * STREAMS_EACH);
  await crowd.assertServed();
  for (const socket of sockets) socket.destroy();
  await crowd.assertNothingLeft();
});

test("200 clients that leave at any moment leave nothing held", async () => {
  await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      const account = crowd.accounts[n % ACCOUNTS] ?? assert.fail();
      const socket = crowd.openStream(account, "[[tokens=40]][[drip=2]]");
      await sleep(n % 23);
      socket.resetAndDestroy();
    }),
  );
  // It is served after those that connected before it.
  await crowd.assertServed();
  await crowd.assertNothingLeft();
});
