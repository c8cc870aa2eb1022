import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chatRequestBytes } from "@inference/gateway/test/http-client";
import { checkSums } from "@inference/gateway/test/settlement/audit";
import { eventually } from "@inference/protocol/testing/eventually";
import { bytesInUse } from "./testing/heap.ts";
import { startStack } from "./testing/stack.ts";

/** open-streams.deep.test.ts has the clients that stay. */
const CLIENTS = process.env.DEEP === "1" ? 60_000 : 3_000;
const ACCOUNTS = 80;

test("1,000 clients a second that leave, for seconds, leave nothing held and no memory behind", async () => {
  await using stack = await startStack({ drainMs: 100 });
  // The provider keeps no record of each request.
  stack.simulator.simulator.change({ record: "off", errorBudget: null });
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => stack.account(1_000_000_000)));
  const keys = accounts.map(({ key }) => key);
  const chat = (content: string, stream: boolean): object => ({
    ...{ model: "sim-small", max_tokens: 50, stream },
    messages: [{ role: "user", content }],
  });
  const assertServed = async (): Promise<void> => {
    const answer = await stack.call("/v1/chat/completions", {
      key: keys[0] ?? assert.fail(),
      body: chat("[[tokens=2]]", false),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  const openAndLeave = async (key: string, ms: number): Promise<void> => {
    const { hostname, port } = new URL(stack.url);
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    socket.write(chatRequestBytes(key, chat("[[tokens=40]][[drip=2]]", true)));
    socket.resume();
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
        const key = keys[leaving.length % ACCOUNTS] ?? assert.fail();
        leaving.push(openAndLeave(key, leaving.length % 23));
      }
      await sleep(5);
    }
    await Promise.all(leaving);
    // Between two requests none may be in flight although more connections wait.
    await eventually(async () => {
      assert.equal(stack.gateway.live.size, 0);
      await checkSums(stack);
    });
  };
  await assertServed();
  await comeAndGo(1_000);
  const before = bytesInUse({ outside: true });
  await comeAndGo(CLIENTS);
  const each = (bytesInUse({ outside: true }) - before) / CLIENTS;
  assert.ok(each < 2 * 1024, `${Math.round(each)} bytes are left of each`);
  const from = performance.now();
  await assertServed();
  assert.ok(performance.now() - from < 5_000, "a request beside them took five seconds");
});
