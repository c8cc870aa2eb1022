import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { providerRecord } from "./testing/audit.ts";
import { chunksIn, eventData, openChatStream } from "./testing/chat-stream.ts";
import {
  assertBilledExactly,
  assertDelivered,
  assertFree,
  assertHold,
  chatBody,
  leaveAtOnce,
  leaveWhen,
  type Moment,
  makeTag,
  type Paid,
  paidFor,
  pay,
  payAndLeave,
  USD,
  withFault,
} from "./testing/pay.ts";
import { type Stack, startStack } from "./testing/stack.ts";

/** What is owed by a client that did not wait for its answer, or waited in vain. */
const abortBillings = ["full", "partial", "none"] as const;

describe("a client that leaves pays what the answer used, once that is known", () => {
  let stack: Stack;
  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  const moments: Record<string, Moment> = {
    "before the headers": leaveAtOnce(),
    "at the first chunk": leaveWhen((text) => text !== ""),
    "in the middle": leaveWhen((_text, tokens) => tokens >= 6),
    "after the last token": leaveWhen((_text, tokens) => tokens >= 20),
    "after [DONE]": leaveWhen((text) => eventData(text).at(-1) === "[DONE]"),
  };
  for (const abortBilling of abortBillings) {
    for (const [name, moment] of Object.entries(moments)) {
      test(`a stream left ${name}, where the provider bills ${abortBilling} of what is aborted`, async () => {
        stack.simulator.simulator.change({ abortBilling });
        const markers = name === "before the headers" ? "[[delay=300]]" : "[[drip=3]]";
        const paid = await payAndLeave(stack, moment, chatBody("sim-small", markers, { stream: true }));
        assert.ok(paid.bill > 0);
        assertBilledExactly(paid);
        assert.equal(paid.detail.basis, "usage");
        if (name !== "after [DONE]" && name !== "after the last token") assert.equal(paid.detail.cancelled, true);
      });
    }

    test(`whole answers left before they came, where the provider bills ${abortBilling} of what is aborted`, async () => {
      stack.simulator.simulator.change({ abortBilling });
      const wait = "[[delay=300]]";
      const bodies: [path: string, makeBody: (tag: string) => object][] = [
        ["/v1/chat/completions", chatBody("sim-small", wait)],
        ["/v1/embeddings", (tag) => ({ model: "sim-embedding", input: tag + wait })],
        ["/v1/images/generations", (tag) => ({ model: "sim-image", prompt: tag + wait })],
        ["/v1/image/generate", (tag) => ({ model: "sim-image", prompt: tag + wait, variants: 2 })],
        ["/v1/image/generate", (tag) => ({ model: "sim-image", prompt: tag + wait, return_binary: true })],
        ["/v1/audio/speech", (tag) => ({ model: "sim-speech", input: tag + wait })],
      ];
      await Promise.all(
        bodies.map(async ([path, makeBody]) => {
          const paid = await payAndLeave(stack, leaveAtOnce(path), makeBody);
          assert.ok(paid.bill > 0, path);
          assertBilledExactly(paid);
        }),
      );
    });
  }

  test("a stream whose provider breaks off after its client has left costs what the client got", async () => {
    const leave = leaveWhen((_text, tokens) => tokens >= 3);
    const markers = withFault("cut-mid-stream", "[[drip=4]][[tokens=40]]");
    const paid = await payAndLeave(stack, leave, chatBody("sim-small", markers, { stream: true }));
    assertDelivered(paid, 3);
  });

  test("an answer that breaks off after its client has left may have been billed whole: the hold", async () => {
    for (const fault of ["cut-fin", "cut-mid-stream"]) {
      const markers = withFault(fault, "[[delay=300]]");
      const chat = await payAndLeave(stack, leaveAtOnce(), chatBody("sim-small", markers));
      assertHold(chat);
      const leave = leaveAtOnce("/v1/images/generations");
      assertHold(await payAndLeave(stack, leave, (tag) => ({ model: "sim-image", prompt: tag + markers })));
    }
  });

  test("a refusal after its client has left is free", async () => {
    const markers = withFault("503", "[[delay=300]]");
    assertFree(await payAndLeave(stack, leaveAtOnce(), chatBody("sim-small", markers)));
  });
});

describe("what is drained for a client that left has a limit", () => {
  const DRAIN_MS = 150;
  let stack: Stack;
  before(async () => {
    stack = await startStack({ drainMs: DRAIN_MS });
    stack.simulator.simulator.change({ errorBudget: null });
  });
  after(() => stack.stop());

  async function closedSoon(tag: string): Promise<void> {
    const record = await providerRecord(stack, tag);
    assert.ok(record.aborted !== null, "the provider's connection was left open");
  }

  async function leaveEarly(moment: Moment, makeBody: (tag: string) => object): Promise<Paid> {
    let tag = "";
    const paid = await payAndLeave(stack, moment, (made) => {
      tag = made;
      return makeBody(made);
    });
    await closedSoon(tag);
    return paid;
  }

  for (const abortBilling of abortBillings) {
    test(`where the provider bills ${abortBilling} of what is aborted, a slow stream costs what was delivered`, async () => {
      stack.simulator.simulator.change({ abortBilling });
      const leave = leaveWhen((_text, tokens) => tokens >= 5);
      const body = chatBody("sim-small", "[[drip=20]][[tokens=90]]", { stream: true });
      const paid = await leaveEarly(leave, body);
      assertDelivered(paid, 5);
      assert.ok(paid.receipt.chargeNanoUsd < paid.hold.amountNanoUsd, "far less than all of it was delivered");
    });

    test(`where the provider bills ${abortBilling} of what is aborted, a whole answer costs the hold`, async () => {
      stack.simulator.simulator.change({ abortBilling });
      const wait = "[[delay=5000]]";
      const bodies: [path: string, makeBody: (tag: string) => object][] = [
        ["/v1/chat/completions", chatBody("sim-small", wait)],
        ["/v1/embeddings", (tag) => ({ model: "sim-embedding", input: tag + wait })],
        ["/v1/images/generations", (tag) => ({ model: "sim-image", prompt: tag + wait })],
        ["/v1/image/generate", (tag) => ({ model: "sim-image-quality", prompt: tag + wait, variants: 2 })],
      ];
      await Promise.all(
        bodies.map(async ([path, makeBody]) => assertHold(await leaveEarly(leaveAtOnce(path), makeBody))),
      );
    });
  }

  for (const fault of ["stall", "endless-body"]) {
    test(`a stream that never ends (${fault}) costs what was delivered`, async () => {
      const leave = leaveWhen((_text, tokens) => tokens >= 5);
      assertDelivered(await leaveEarly(leave, chatBody("sim-small", withFault(fault), { stream: true })), 5);
    });

    test(`a whole answer that never ends (${fault}) costs the hold`, async () => {
      assertHold(await leaveEarly(leaveAtOnce(), chatBody("sim-small", withFault(fault))));
    });
  }

  test("a stream of which nothing ever came is free, a whole answer costs the hold", async () => {
    const body = (more: object) => chatBody("sim-small", withFault("hang-before-headers"), more);
    assertFree(await leaveEarly(leaveAtOnce(), body({ stream: true })));
    assertHold(await leaveEarly(leaveAtOnce(), body({})));
  });

  test("speech that was being made costs its flat price", async () => {
    const leave: Moment = async (_stack, { key }, body) => {
      const abort = new AbortController();
      const answer = await stack.call("/v1/audio/speech", { key, body, signal: abort.signal });
      await answer.body?.getReader().read();
      abort.abort();
    };
    const input = `[[drip=40]] ${"words ".repeat(300)}`;
    const paid = await leaveEarly(leave, (tag) => ({ model: "sim-speech", input: tag + input, streaming: true }));
    assertHold(paid);
  });

  test("a usage that comes within the limit is what is charged", async () => {
    const leave = leaveWhen((_text, tokens) => tokens >= 5);
    const paid = await payAndLeave(stack, leave, chatBody("sim-small", "[[drip=3]][[tokens=12]]", { stream: true }));
    assertBilledExactly(paid);
  });
});

describe("time that runs out ends a request, and what it had cost by then is what it costs", () => {
  let stack: Stack;
  before(async () => {
    // 14 minutes for a request are 420 ms, 30 s for a reader 15 ms.
    stack = await startStack({ hurry: 2_000, drainMs: 600_000 });
  });
  after(() => stack.stop());

  test("an answer that never begins is a timeout, and free", async () => {
    for (const stream of [false, true]) {
      const paid = await pay(
        stack,
        "/v1/chat/completions",
        chatBody("sim-small", withFault("hang-before-headers"), { stream }),
      );
      assert.deepEqual([paid.status, JSON.parse(paid.text).error.code], [504, "upstream_timeout"]);
      assertFree(paid);
    }
  });

  for (const fault of ["stall", "endless-body"]) {
    test(`a stream that never ends (${fault}) ends in one error event, without [DONE]`, async () => {
      const paid = await pay(stack, "/v1/chat/completions", chatBody("sim-small", withFault(fault), { stream: true }));
      const events = eventData(paid.text);
      assert.equal(chunksIn(paid.text).filter(({ error }) => error !== undefined).length, 1);
      assert.equal(chunksIn(paid.text).at(-1)?.error?.code, "upstream_timeout");
      assert.ok(!events.includes("[DONE]"));
      assertDelivered(paid, fault === "stall" ? 10 : 100);
    });

    test(`a whole answer that never ends (${fault}) is a timeout, and free`, async () => {
      const paid = await pay(stack, "/v1/chat/completions", chatBody("sim-small", withFault(fault)));
      assert.deepEqual([paid.status, JSON.parse(paid.text).error.code], [504, "upstream_timeout"]);
      assertFree(paid);
    });
  }
});

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
