import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chatRequestBytes } from "@inference/gateway/test/http-client";
import { checkSums } from "@inference/gateway/test/settlement/audit";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** Clients that do nothing, or come only to leave. crowd.budget.ts measures the memory of more of them. */
const USD = 1_000_000_000;
const ACCOUNTS = 8;
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
  const key = accounts[0]?.key ?? assert.fail();
  const answer = await stack.call("/v1/chat/completions", { key, body: chat("[[tokens=2]]", false) });
  assert.equal(answer.status, 200, await answer.text());
}

/** At the end no request is in flight, no hold is left, and the ledger agrees. */
async function assertNothingLeft(): Promise<void> {
  await eventually(() => stack.gateway.live.size === 0);
  await checkSums(stack);
}

test("200 streams that stand still keep nobody waiting and leave nothing held", async () => {
  const sockets = accounts.flatMap((account) =>
    Array.from({ length: STREAMS_EACH }, () => openStream(account, "[[fault=stall]]")),
  );
  await eventually(() => sockets.every(({ bytesRead }) => bytesRead > 0));
  assert.equal(stack.gateway.live.size, ACCOUNTS * STREAMS_EACH);
  await assertServed();
  for (const socket of sockets) socket.destroy();
  await assertNothingLeft();
});

test("500 clients that leave at any moment leave nothing held", async () => {
  await Promise.all(
    Array.from({ length: 500 }, async (_, n) => {
      const socket = openStream(accounts[n % ACCOUNTS] ?? assert.fail(), "[[tokens=40]][[drip=2]]");
      await sleep(n % 23);
      socket.resetAndDestroy();
    }),
  );
  await assertNothingLeft();
  await assertServed();
});
