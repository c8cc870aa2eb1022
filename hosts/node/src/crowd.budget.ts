import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Crowd, startCrowd } from "./testing/crowd.ts";
import { bytesInUse } from "./testing/heap.ts";
import type { TestAccount } from "./testing/stack.ts";

/** More clients than one machine is likely to have. */
const KIB = 1024;
const DEEP = process.env.DEEP === "1";
/** Together 2,000, each below what one account may have in flight. */
const ACCOUNTS = 80;
const STREAMS_EACH = 25;

let crowd: Crowd;
before(async () => {
  crowd = await startCrowd(ACCOUNTS);
});
after(() => crowd?.stack.stop());

async function assertServedSoon(): Promise<void> {
  const from = performance.now();
  await crowd.assertServed();
  assert.ok(performance.now() - from < 5_000, "a request beside them took five seconds");
}

test("2,000 streams that stand still take little memory each, keep nobody waiting and leave nothing held", async () => {
  const before = bytesInUse({ outside: true });
  const sockets = crowd.accounts.flatMap((account) =>
    Array.from({ length: STREAMS_EACH }, () => crowd.openStream(account, "[[fault=stall]]")),
  );
  await eventually(() => sockets.every(({ bytesRead }) => bytesRead > 0));
  assert.equal(crowd.stack.gateway.live.size, ACCOUNTS * STREAMS_EACH);
  const each = (bytesInUse({ outside: true }) - before) / sockets.length;
  // The client's part and the provider's are in it.
  assert.ok(each < 128 * KIB, `${Math.round(each / KIB)} KiB for each`);
  await assertServedSoon();
  for (const socket of sockets) socket.destroy();
  await crowd.assertNothingLeft();
});

test("1,000 clients a second that leave, for seconds, leave nothing held and no memory behind", async () => {
  const openAndLeave = async (account: TestAccount, ms: number): Promise<void> => {
    const socket = crowd.openStream(account, "[[tokens=40]][[drip=2]]");
    await sleep(ms);
    socket.resetAndDestroy();
  };
  const comeAndGo = async (clients: number): Promise<void> => {
    const leaving: Promise<void>[] = [];
    const from = performance.now();
    while (leaving.length < clients) {
      // A busy machine has more requests due at a time.
      const due = Math.min(clients, Math.floor(performance.now() - from));
      while (leaving.length < due) {
        const account = crowd.accounts[leaving.length % ACCOUNTS] ?? assert.fail();
        leaving.push(openAndLeave(account, leaving.length % 23));
      }
      await sleep(5);
    }
    await Promise.all(leaving);
    await crowd.assertNothingLeft();
  };
  await comeAndGo(1_000);
  const before = bytesInUse({ outside: true });
  const clients = DEEP ? 60_000 : 3_000;
  await comeAndGo(clients);
  const each = (bytesInUse({ outside: true }) - before) / clients;
  assert.ok(each < 2 * KIB, `${Math.round(each)} bytes are left of each`);
  await assertServedSoon();
});
