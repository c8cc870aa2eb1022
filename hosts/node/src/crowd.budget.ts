import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chatRequestBytes } from "@inference/gateway/test/http-client";
import { checkSums } from "@inference/gateway/test/settlement/audit";
import { eventually } from "@inference/protocol/testing/eventually";
import { bytesInUse } from "./testing/heap.ts";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** More clients than one machine is likely to have, who do nothing, or come only to leave. */
const USD = 1_000_000_000;
const KIB = 1024;
const DEEP = process.env.DEEP === "1";
/** Together 2,000, each below what one account may have in flight. */
const ACCOUNTS = 80;
const STREAMS_EACH = 25;

let stack: Stack;
let accounts: TestAccount[];
before(async () => {
  stack = await startStack({ drainMs: 100 });
  // The provider keeps no record of each request.
  stack.simulator.simulator.change({ record: "off", errorBudget: null });
  accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => stack.account(USD)));
  await assertServed();
});
after(() => stack?.stop());

const chat = (content: string, stream: boolean): object => ({
  model: "sim-small",
  max_tokens: 50,
  stream,
  messages: [{ role: "user", content }],
});

function openStream({ key }: TestAccount, markers: string): Socket {
  const { hostname, port } = new URL(stack.url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  socket.write(chatRequestBytes(key, chat(markers, true)));
  return socket.resume();
}

async function assertServed(): Promise<void> {
  const from = performance.now();
  const key = accounts[0]?.key ?? assert.fail();
  const answer = await stack.call("/v1/chat/completions", { key, body: chat("[[tokens=2]]", false) });
  assert.equal(answer.status, 200, await answer.text());
  assert.ok(performance.now() - from < 5_000, "a request beside them took five seconds");
}

/** At the end no request is in flight, no hold is left, and the ledger agrees. */
async function assertNothingLeft(): Promise<void> {
  await eventually(() => stack.gateway.live.size === 0);
  await checkSums(stack);
}

test("2,000 streams that stand still take little memory each, keep nobody waiting and leave nothing held", async () => {
  const before = bytesInUse({ outside: true });
  const sockets = accounts.flatMap((account) =>
    Array.from({ length: STREAMS_EACH }, () => openStream(account, "[[fault=stall]]")),
  );
  await eventually(() => sockets.every(({ bytesRead }) => bytesRead > 0));
  assert.equal(stack.gateway.live.size, ACCOUNTS * STREAMS_EACH);
  const each = (bytesInUse({ outside: true }) - before) / sockets.length;
  // The client's part and the provider's are in it.
  assert.ok(each < 128 * KIB, `${Math.round(each / KIB)} KiB for each`);
  await assertServed();
  for (const socket of sockets) socket.destroy();
  await assertNothingLeft();
});

test("1,000 clients a second that leave, for seconds, leave nothing held and no memory behind", async () => {
  const openAndLeave = async (account: TestAccount, ms: number): Promise<void> => {
    const socket = openStream(account, "[[tokens=40]][[drip=2]]");
    await sleep(ms);
    socket.resetAndDestroy();
  };
  const crowd = async (clients: number): Promise<void> => {
    const leaving: Promise<void>[] = [];
    const from = performance.now();
    while (leaving.length < clients) {
      // A busy machine has more requests due at a time.
      const due = Math.min(clients, Math.floor(performance.now() - from));
      while (leaving.length < due) {
        const account = accounts[leaving.length % ACCOUNTS] ?? assert.fail();
        leaving.push(openAndLeave(account, leaving.length % 23));
      }
      await sleep(5);
    }
    await Promise.all(leaving);
    await assertNothingLeft();
  };
  await crowd(1_000);
  const before = bytesInUse({ outside: true });
  const clients = DEEP ? 60_000 : 3_000;
  await crowd(clients);
  const each = (bytesInUse({ outside: true }) - before) / clients;
  assert.ok(each < 2 * KIB, `${Math.round(each)} bytes are left of each`);
  await assertServed();
});
