import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chunksIn, openChatStream } from "@inference/gateway/inference/testing/chat-stream";
import {
  assertBilledExactly,
  assertDelivered,
  chatBody,
  makeTag,
  paidFor,
  pay,
  USD,
  withFault,
} from "@inference/gateway/inference/testing/pay";
import { startStack } from "./testing/stack.ts";

describe("a provider that falls silent", () => {
  test("keeps a stream alive with comments until it is given up", async () => {
    const startedAt = Date.now();
    const speed = 150;
    // Timers and clock alike: 15 s are 100 ms.
    const now = (): number => startedAt + (Date.now() - startedAt) * speed;
    const stack = await startStack({ hurry: speed, now });
    try {
      const paid = await pay(
        stack,
        "/v1/chat/completions",
        chatBody("sim-small", withFault("stall"), { stream: true }),
      );
      assert.ok(paid.text.split(": keep-alive\n\n").length > 4, paid.text.slice(-500));
      assert.equal(chunksIn(paid.text).at(-1)?.error?.code, "upstream_timeout");
      assertDelivered(paid, 10);
      assert.ok(now() - paid.receipt.admittedAt >= 120_000, "not before two minutes of silence");
      assert.ok(paid.receipt.resolvedAt - paid.receipt.admittedAt < 300_000, "and not long after");
    } finally {
      await stack.stop();
    }
  });
});

describe("a reader that stops reading", () => {
  test("is left behind, and pays for the whole answer that was made for it", async () => {
    const stack = await startStack({ hurry: 100, drainMs: 3_000_000 });
    try {
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
    } finally {
      await stack.stop();
    }
  });
});
