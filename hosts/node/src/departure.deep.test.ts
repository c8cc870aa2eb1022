import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { chatRequestBytes } from "@inference/gateway/test/http-client";
import { checkSums, providerRecords } from "@inference/gateway/test/settlement/audit";
import { chunksIn, openChatStream } from "@inference/gateway/test/settlement/chat-stream";
import {
  assertBilledExactly,
  assertDelivered,
  chatBody,
  makeTag,
  paidFor,
  pay,
  SMALL,
  USD,
  withFault,
} from "@inference/gateway/test/settlement/pay";
import { eventually } from "@inference/protocol/testing/eventually";
import { startStack } from "./testing/stack.ts";

/** On Node alone: halves of connections, whose ends a Worker is not told of, and timers of its own speed. */
describe("a provider that falls silent", () => {
  test("keeps a stream alive with comments until it is given up", async () => {
    const startedAt = Date.now();
    const speed = 150;
    // Timers and clock alike: 15 s are 100 ms.
    const now = (): number => startedAt + (Date.now() - startedAt) * speed;
    await using stack = await startStack({ hurry: speed, now });
    const paid = await pay(stack, "/v1/chat/completions", chatBody("sim-small", withFault("stall"), { stream: true }));
    assert.ok(paid.text.split(": keep-alive\n\n").length > 4, paid.text.slice(-500));
    assert.equal(chunksIn(paid.text).at(-1)?.error?.code, "upstream_timeout");
    assertDelivered(paid, 10, "hold");
    assert.ok(now() - paid.receipt.admittedAt >= 120_000, "not before two minutes of silence");
    assert.ok(paid.receipt.resolvedAt - paid.receipt.admittedAt < 300_000, "and not long after");
  });
});

describe("a reader that stops reading", () => {
  test("is left behind, and pays for the whole answer that was made for it", async () => {
    await using stack = await startStack({ request: { stalledReaderMs: 300 }, drainMs: 60_000 });
    const account = await stack.account(1_000 * USD);
    const tag = makeTag();
    const body = chatBody("sim-small", "[[tokens=6000]]", { n: 8, max_tokens: 6000 })(tag);
    const stream = await openChatStream(stack, account, body);
    await stream.readUntil(() => stream.text() !== "");
    const paid = await paidFor(stack, account, tag);
    assertBilledExactly(paid);
    assert.equal(paid.detail.usage?.completionTokens, 48_000);
    assert.equal(paid.detail.cancelled, true);
    stream.leave();
  });
});

describe("half a connection", () => {
  for (const stream of [true, false]) {
    test(`is enough for an answer: who ends their side gets all of it, and pays for it; stream: ${stream}`, async () => {
      await using stack = await startStack();
      const account = await stack.account(1_000 * USD);
      const tag = makeTag();
      const oneSecond = `[[tokens=40]]${stream ? "[[drip=25]]" : "[[delay=1000]]"}`;
      const socket = connect({ port: Number(new URL(stack.url).port), host: "127.0.0.1", allowHalfOpen: true });
      let text = "";
      socket.setEncoding("utf8").on("data", (data) => {
        text += data;
      });
      socket.end(chatRequestBytes(account.key, chatBody("sim-small", oneSecond, { stream })(tag)));
      await once(socket, "end");
      if (stream) assert.equal(text.split('"delta":{"content":"').length - 1, 40);
      else assert.match(text, /HTTP\/1.1 200 OK[\s\S]*"completion_tokens":40/);
      const paid = await paidFor(stack, account, tag);
      assertBilledExactly(paid);
      assert.equal(paid.detail.cancelled, false);
    });

    test(`does not hide who has gone: they pay for what was made; stream: ${stream}`, async () => {
      await using stack = await startStack({ drainMs: 200 });
      const account = await stack.account(1_000 * USD);
      const tag = makeTag();
      const slow = `[[tokens=40]]${stream ? "[[drip=50]]" : "[[delay=2000]]"}`;
      const socket = connect({ port: Number(new URL(stack.url).port), host: "127.0.0.1" });
      let text = "";
      socket.setEncoding("utf8").on("data", (data) => {
        text += data;
      });
      const tokens = () => text.split('"delta":{"content":"').length - 1;
      socket.write(chatRequestBytes(account.key, chatBody("sim-small", slow, { stream })(tag)));
      await eventually(() => providerRecords(stack, tag).length > 0);
      if (stream) await eventually(() => tokens() >= 4);
      // Without unread bytes this ends the connection, and resets nothing.
      socket.destroy();
      const made = tokens();
      const { receipt, detail } = await paidFor(stack, account, tag);
      assert.deepEqual([receipt.state, detail.cancelled], ["settled", true]);
      assert.ok(receipt.resolvedAt - receipt.admittedAt < 2_000, "it was read on for a client that had gone");
      if (stream) assert.ok(receipt.chargeNanoUsd >= Math.max(4, made) * SMALL.completionNanoUsd);
      else assert.equal(receipt.chargeNanoUsd, receipt.heldNanoUsd);
    });
  }
});

test("200 clients that leave at any moment leave nothing held, and the ledger agrees", async () => {
  await using stack = await startStack({ drainMs: 100 });
  stack.simulator.simulator.change({ errorBudget: null });
  const accounts = await Promise.all(Array.from({ length: 8 }, () => stack.account(USD)));
  const { hostname, port } = new URL(stack.url);
  const body = chatBody("sim-small", "[[tokens=40]][[drip=2]]", { stream: true })(makeTag());
  await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      const socket = connect(Number(port), hostname).on("error", () => undefined);
      socket.resume().write(chatRequestBytes(accounts[n % 8]?.key ?? assert.fail(), body));
      // Each leaves at another turn of the event loop.
      for (let turn = 0; turn < n % 23; turn++) await new Promise(setImmediate);
      socket.resetAndDestroy();
    }),
  );
  // It is served after those that connected before it.
  await pay(stack, "/v1/chat/completions", chatBody("sim-small", "[[tokens=2]]"));
  await eventually(async () => {
    assert.equal(stack.gateway.live.size, 0);
    await checkSums(stack);
  });
});
