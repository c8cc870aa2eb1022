import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatUsd } from "@inference/protocol/money";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { providerRecord } from "./audit.ts";
import { chunksIn, eventData } from "./chat-stream.ts";
import {
  type Answer,
  assertBilledExactly,
  assertDelivered,
  assertFree,
  assertHold,
  assertPrompt,
  chatBody,
  leaveAtOnce,
  leaveWhen,
  type Moment,
  type Paid,
  pay,
  payAndLeave,
  promptBound,
  SMALL,
  withFault,
} from "./pay.ts";

const isDeep = process.env.DEEP === "1";
/** The provider's bill for an aborted answer changes no charge. */
const abortBillings = isDeep ? (["full", "partial", "none"] as const) : (["partial"] as const);

/** The charges of clients that left before the end or got no end, for every host. */
export function testDepartures(startHost: StartHost): void {
  describe("a client that leaves pays what the answer used, once that is known", () => {
    const host = hostFor(startHost);

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
          host.simulator.simulator.change({ abortBilling });
          const markers = name === "before the headers" ? "[[delay=300]]" : "[[drip=3]]";
          const paid = await payAndLeave(host, moment, chatBody("sim-small", markers, { stream: true }));
          assert.ok(paid.bill > 0);
          assertBilledExactly(paid);
          assert.equal(paid.detail.basis, "usage");
          if (name !== "after [DONE]" && name !== "after the last token") assert.equal(paid.detail.cancelled, true);
        });
      }

      test(`whole answers left before they came, where the provider bills ${abortBilling} of what is aborted`, async () => {
        host.simulator.simulator.change({ abortBilling });
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
            const paid = await payAndLeave(host, leaveAtOnce(path), makeBody);
            assert.ok(paid.bill > 0, path);
            assertBilledExactly(paid);
          }),
        );
      });
    }

    test("a stream whose provider breaks off after its client has left costs what the client got", async () => {
      const leave = leaveWhen((_text, tokens) => tokens >= 3);
      // The client reads three tokens of it, and leaves long before the others.
      const markers = withFault("cut-mid-stream", "[[drip=200]][[tokens=40]]");
      const paid = await payAndLeave(host, leave, chatBody("sim-small", markers, { stream: true }));
      assertDelivered(paid, 3, "some");
    });

    test("an answer that breaks off after its client has left may have been billed whole: the hold", async () => {
      for (const fault of ["cut-fin", "cut-mid-stream"]) {
        const markers = withFault(fault, "[[delay=300]]");
        const chat = await payAndLeave(host, leaveAtOnce(), chatBody("sim-small", markers));
        assertHold(chat);
        const leave = leaveAtOnce("/v1/images/generations");
        assertHold(await payAndLeave(host, leave, (tag) => ({ model: "sim-image", prompt: tag + markers })));
      }
    });

    test("a refusal after its client has left is free", async () => {
      const markers = withFault("503", "[[delay=300]]");
      assertFree(await payAndLeave(host, leaveAtOnce(), chatBody("sim-small", markers)));
    });
  });

  describe("an answer is read on for as long on every host", () => {
    // 25 s are 2.5 s.
    const host = hostFor(startHost, { hurry: 10 });

    test("the same stream, left at the same token, costs the same on every host", async () => {
      // It would take 12 s.
      const body = chatBody("sim-small", "[[drip=400]][[tokens=30]]", { stream: true });
      const leave = leaveWhen((_text, tokens) => tokens === 1);
      const paid = await payAndLeave(host, leave, body);
      const { receipt, detail } = paid;
      assert.equal(detail.basis, "delivered");
      // One token or two were delivered; the whole answer has 30.
      const tokens = (receipt.chargeNanoUsd - promptBound(paid)) / SMALL.completionNanoUsd;
      assert.ok(tokens >= 1 && tokens <= 15, `${tokens} tokens`);
      const lastedMs = receipt.resolvedAt - receipt.admittedAt;
      assert.ok(lastedMs >= 2_500, `${lastedMs} ms`);
    });

    test("a stream that the provider broke off before its first token is free, also for who has left", async () => {
      const body = chatBody("sim-small", withFault("200-error-only", "[[delay=100]]"), { stream: true });
      assertFree(await payAndLeave(host, leaveAtOnce(), body));
    });

    test("a usage that comes within the limit is what is charged", async () => {
      const leave = leaveWhen((_text, tokens) => tokens >= 5);
      const paid = await payAndLeave(host, leave, chatBody("sim-small", "[[drip=3]][[tokens=12]]", { stream: true }));
      assertBilledExactly(paid);
    });
  });

  describe("what is drained for a client that left has a limit", () => {
    const host = hostFor(startHost, { hurry: 100 }, { simulator: { errorBudget: null } });

    async function closedSoon(tag: string): Promise<void> {
      const record = await providerRecord(host, tag);
      assert.ok(record.aborted !== null, "the provider's connection was left open");
    }

    async function leaveEarly(moment: Moment, makeBody: (tag: string) => object): Promise<Paid> {
      let tag = "";
      const paid = await payAndLeave(host, moment, (made) => {
        tag = made;
        return makeBody(made);
      });
      await closedSoon(tag);
      return paid;
    }

    for (const abortBilling of abortBillings) {
      test(`where the provider bills ${abortBilling} of what is aborted, a slow stream costs what was delivered`, async () => {
        host.simulator.simulator.change({ abortBilling });
        const leave = leaveWhen((_text, tokens) => tokens >= 5);
        const body = chatBody("sim-small", "[[drip=20]][[tokens=90]]", { stream: true });
        const paid = await leaveEarly(leave, body);
        assertDelivered(paid, 5, "hold");
        assert.ok(paid.receipt.chargeNanoUsd < paid.receipt.heldNanoUsd, "far less than all of it was delivered");
      });

      test(`where the provider bills ${abortBilling} of what is aborted, a whole answer costs the hold`, async () => {
        host.simulator.simulator.change({ abortBilling });
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
        const paid = await leaveEarly(leave, chatBody("sim-small", withFault(fault), { stream: true }));
        assertDelivered(paid, 5, "hold");
      });

      test(`a whole answer that never ends (${fault}) costs the hold`, async () => {
        assertHold(await leaveEarly(leaveAtOnce(), chatBody("sim-small", withFault(fault))));
      });
    }

    test("a stream of which nothing ever came costs the prompt's bound, a whole answer the hold", async () => {
      const body = (more: object) => chatBody("sim-small", withFault("hang-before-headers"), more);
      assertPrompt(await leaveEarly(leaveAtOnce(), body({ stream: true })));
      assertHold(await leaveEarly(leaveAtOnce(), body({})));
    });

    test("a stream left before its first token, which never comes, costs the prompt's bound", async () => {
      const body = chatBody("sim-small", withFault("stall", "[[tokens=0]]"), { stream: true });
      assertPrompt(
        await leaveEarly(
          leaveWhen((text) => text !== ""),
          body,
        ),
      );
    });

    test("a stream left before its first token costs the prompt's bound, though more came for nobody", async () => {
      const slow = "[[delay=40]][[drip=40]][[tokens=200]]";
      assertPrompt(await leaveEarly(leaveAtOnce(), chatBody("sim-small", slow, { stream: true })));
    });

    test("speech that was being made costs its flat price", async () => {
      const leave: Moment = async (_host, { key }, body) => {
        const abort = new AbortController();
        const answer = await host.call("/v1/audio/speech", { key, body, signal: abort.signal });
        await answer.body?.getReader().read();
        abort.abort();
      };
      const input = `[[drip=40]] ${"words ".repeat(300)}`;
      const paid = await leaveEarly(leave, (tag) => ({ model: "sim-speech", input: tag + input, streaming: true }));
      assertHold(paid);
    });
  });

  describe("time that runs out ends a request, and what it had cost by then is what it costs", () => {
    // 14 minutes for a request are 2.1 s, two minutes of silence 300 ms, 15 s for a body 37 ms.
    const host = hostFor(startHost, { hurry: 400 });

    function assertTimeout({ status, text, receipt }: Paid & Answer): void {
      const { code, message } = JSON.parse(text).error;
      assert.deepEqual([status, code], [504, "upstream_timeout"]);
      assert.ok(message.includes(`$${formatUsd(receipt.chargeNanoUsd)} was charged`), message);
      assert.ok(message.includes(`/api/v1/generation?id=${receipt.id}`), message);
    }

    test("an answer that never begins is a timeout, and costs who waited what it costs who left", async () => {
      for (const stream of [false, true]) {
        const body = chatBody("sim-small", withFault("hang-before-headers"), { stream });
        const paid = await pay(host, "/v1/chat/completions", body);
        assertTimeout(paid);
        if (stream) assertPrompt(paid);
        else assertHold(paid);
      }
    });

    for (const fault of ["stall", "endless-body"]) {
      test(`a stream that never ends (${fault}) ends in one error event, without [DONE]`, async () => {
        const paid = await pay(host, "/v1/chat/completions", chatBody("sim-small", withFault(fault), { stream: true }));
        const events = eventData(paid.text);
        assert.equal(chunksIn(paid.text).filter(({ error }) => error !== undefined).length, 1);
        assert.equal(chunksIn(paid.text).at(-1)?.error?.code, "upstream_timeout");
        assert.ok(!events.includes("[DONE]"));
        assertDelivered(paid, fault === "stall" ? 10 : 100, "hold");
      });

      test(`a whole answer that never ends (${fault}) is a timeout, and costs the hold`, async () => {
        const paid = await pay(host, "/v1/chat/completions", chatBody("sim-small", withFault(fault)));
        assertTimeout(paid);
        assertHold(paid);
      });
    }
  });
}
