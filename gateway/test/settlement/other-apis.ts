import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAULTS } from "@inference/provider-simulator/faults";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { alertsOf, checkSums, settledOne } from "./audit.ts";
import { openStream } from "./chat-stream.ts";
import { typicalFaults } from "./faulty-settlements.ts";
import {
  assertDelivered,
  assertHold,
  assertPrompt,
  leaveAtOnce,
  type Moment,
  pay,
  payAndLeave,
  USD,
  withFault,
} from "./pay.ts";

/** One conversation, as each API has it. */
type Ask = { content: string; model?: string; stream: boolean; withTool?: boolean };
type Api = { path: string; body(ask: Ask): object; hasEnded: RegExp; hasFailed: RegExp };

const MAX_TOKENS = 100;
const parameters = { type: "object", properties: {} };
const chat: Api = {
  path: "/v1/chat/completions",
  body: ({ content, model = "sim-small", stream, withTool = false }) => ({
    model,
    messages: [{ role: "user", content }],
    max_tokens: MAX_TOKENS,
    stream,
    ...(withTool ? { tools: [{ type: "function", function: { name: "look", parameters } }] } : {}),
  }),
  hasEnded: /^data: (\[DONE\]|.*"finish_reason":"[a-z_]+")/m,
  hasFailed: /^data: \{"error":/m,
};
const others: Readonly<Record<string, Api>> = {
  Responses: {
    path: "/v1/responses",
    body: ({ content, model = "sim-small", stream, withTool = false }) => ({
      model,
      input: content,
      max_output_tokens: MAX_TOKENS,
      stream,
      ...(withTool ? { tools: [{ type: "function", name: "look", parameters }] } : {}),
    }),
    hasEnded: /^event: response\.(completed|incomplete)$/m,
    hasFailed: /^event: response\.failed$/m,
  },
  Messages: {
    path: "/v1/messages",
    body: ({ content, model = "sim-small", stream, withTool = false }) => ({
      model,
      messages: [{ role: "user", content }],
      max_tokens: MAX_TOKENS,
      stream,
      ...(withTool ? { tools: [{ name: "look", input_schema: parameters }] } : {}),
    }),
    hasEnded: /^event: message_stop$/m,
    hasFailed: /^event: error$/m,
  },
};
const isDeep = process.env.DEEP === "1";
/** Answers without an end, and one after which the model gets no request for 30 s. */
const leftOut = new Set(["hang-before-headers", "endless-headers", "stall", "endless-body", "429-retry-after"]);
const faults = Object.keys(FAULTS).filter(
  (name) =>
    /^(answer|socket|stream|usage)$/.test(FAULTS[name]?.stage ?? "") &&
    !leftOut.has(name) &&
    (isDeep || typicalFaults.has(name)),
);

/**
 * The settlement matrix once more, for requests that become a chat: each costs what that chat costs. For every host.
 */
export function testOtherApis(startHost: StartHost): void {
  describe("a request of another API is settled as the chat that it becomes", () => {
    const host = hostFor(
      startHost,
      {},
      { simulator: { errorBudget: null, slowDripMs: 1, bigEventBytes: 1024 * 1024 }, check: checkSums },
    );

    const rows: Record<string, Omit<Ask, "stream">> = {
      "an answer": { content: "[[tokens=37]]" },
      "an answer that stops at its limit": { content: "[[tokens=500]]" },
      "a cached prompt": { content: "[[prompt=150]][[cached=128]]", model: "sim-large" },
      "a cache that is read and written": {
        content: "[[prompt=200]][[cached=100]][[cache-write=64]]",
        model: "sim-cached",
      },
      "a prompt above the long-context threshold": {
        content: `${"many words of a long prompt ".repeat(220)}[[prompt=1001]]`,
        model: "sim-extended-low",
      },
      "a free model": { content: "x", model: "sim-free" },
      reasoning: { content: "[[tokens=50]][[reasoning=32]]", model: "sim-reasoning" },
      "reasoning alone": { content: "[[tokens=20]][[reasoning=20]]", model: "sim-reasoning" },
      "a tool call": { content: "[[finish=tool_calls]]", withTool: true },
      "filtered content": { content: "[[finish=content_filter]]" },
      "no token": { content: "[[tokens=0]]" },
    };
    // Few tokens where each byte has its own write.
    for (const fault of faults)
      rows[`the fault ${fault}`] = {
        content: withFault(fault, fault === "byte-drip" ? "[[tokens=2]]" : "[[tokens=30]]"),
      };
    for (const [name, row] of Object.entries(rows)) {
      for (const stream of [false, true]) {
        test(`${name}, ${stream ? "streamed" : "whole"}`, async () => {
          const ask = { ...row, stream };
          const asked = settle(chat, ask);
          await Promise.all(
            Object.entries(others).map(async ([api, other]) => {
              const { text, code, ...settled } = await settle(other, ask);
              const expected = await asked;
              assert.deepEqual(settled.books, expected.books, api);
              assert.equal(code, expected.code, api);
              assert.equal(settled.status, expected.status, api);
              if (settled.status !== 200) return;
              const hasFailed = chat.hasFailed.test(expected.text);
              const [, shown] = /.*"cost_nano_usd":(\d+)/s.exec(text) ?? [];
              if (!hasFailed) assert.equal(Number(shown), settled.books.chargeNanoUsd, text);
              if (!stream) return;
              assert.equal(other.hasFailed.test(text), hasFailed, text);
              assert.equal(other.hasEnded.test(text), !hasFailed, text);
            }),
          );
          // So many failures of several accounts in a row would open the model's circuit breaker.
          if ((await asked).status >= 500) await settle(chat, { content: "[[tokens=1]]", stream });
        });
      }
    }

    async function settle(api: Api, ask: Ask) {
      const account = await host.account(1_000 * USD);
      const answer = await host.call(api.path, { key: account.key, body: api.body(ask) });
      const text = await answer.text();
      const { status } = answer;
      const code = status === 200 ? null : (JSON.parse(text) as { error: { code: string } }).error.code;
      return { status, code, text, books: await booksOf(account) };
    }

    async function booksOf({ address }: TestAccount) {
      const { receipt, detail } = await settledOne(host, address);
      const { state: outcome, chargeNanoUsd, lossNanoUsd, heldNanoUsd } = receipt;
      const { usage, losses } = await alertsOf(host, receipt.id);
      const { basis, model, cancelled } = detail;
      return { outcome, chargeNanoUsd, lossNanoUsd, heldNanoUsd, basis, model, cancelled, usage, losses };
    }

    for (const [api, other] of Object.entries(others)) {
      const moments: Record<string, [markers: string, leave: Moment]> = {
        "before the headers": ["[[delay=300]][[tokens=20]]", leaveAtOnce(other.path)],
        "at its first event": ["[[drip=3]][[tokens=20]]", leaveStream(other, /\n\n/)],
        "in the middle": ["[[drip=3]][[tokens=20]]", leaveStream(other, /(delta"[\s\S]*){12}/)],
        "after its last event": ["[[tokens=20]]", leaveStream(other, other.hasEnded)],
      };
      for (const [name, [markers, leave]] of Object.entries(moments)) {
        test(`a stream of ${api} that its client leaves ${name} costs its usage`, async () => {
          const paid = await payAndLeave(host, leave, bodyOf(other, markers, true));
          assert.ok(paid.bill > 0);
          assert.deepEqual([paid.receipt.chargeNanoUsd, paid.detail.basis], [paid.bill, "usage"]);
        });
      }

      test(`a whole answer of ${api} that its client does not wait for costs its usage`, async () => {
        const paid = await payAndLeave(host, leaveAtOnce(other.path), bodyOf(other, "[[delay=300]]", false));
        assert.deepEqual([paid.receipt.chargeNanoUsd, paid.detail.basis], [paid.bill, "usage"]);
      });
    }
  });

  describe("a request of another API that nothing ends", () => {
    // 14 minutes for a request are 2.1 s, two minutes of silence 300 ms, 25 s for a drain 62 ms.
    const host = hostFor(startHost, { hurry: 400 }, { simulator: { errorBudget: null } });

    for (const [api, other] of Object.entries(others)) {
      for (const fault of ["stall", "endless-body"]) {
        test(`${api}, ${fault}: a stream costs what was delivered, a whole answer the hold`, async () => {
          const stream = await pay(host, other.path, bodyOf(other, withFault(fault), true));
          assert.match(stream.text, other.hasFailed);
          assertDelivered(stream, fault === "stall" ? 10 : 100, "hold");
          const whole = await pay(host, other.path, bodyOf(other, withFault(fault), false));
          assert.equal(whole.status, 504);
          assertHold(whole);
        });

        test(`${api}, ${fault}: who leaves owes what was delivered of a stream, and the hold of a whole answer`, async () => {
          const leave = leaveStream(other, /(delta"[\s\S]*){10}/);
          assertDelivered(await payAndLeave(host, leave, bodyOf(other, withFault(fault), true)), 5, "hold");
          assertHold(await payAndLeave(host, leaveAtOnce(other.path), bodyOf(other, withFault(fault), false)));
        });
      }

      test(`${api}: a stream of which nothing ever came costs the prompt's bound, a whole answer the hold`, async () => {
        const markers = withFault("hang-before-headers");
        assertPrompt(await payAndLeave(host, leaveAtOnce(other.path), bodyOf(other, markers, true)));
        assertHold(await payAndLeave(host, leaveAtOnce(other.path), bodyOf(other, markers, false)));
      });
    }
  });
}

function bodyOf(api: Api, markers: string, stream: boolean): (tag: string) => object {
  return (tag) => api.body({ content: `${tag} ${markers}`, stream });
}

function leaveStream(api: Api, isTime: RegExp): Moment {
  return async (host, account, body) => {
    const stream = await openStream(host, account, api.path, body);
    assert.ok(await stream.readUntil(() => isTime.test(stream.text())), `the stream ended before: ${stream.text()}`);
    stream.leave();
  };
}
