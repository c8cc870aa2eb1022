import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MAX_EVENT_BYTES } from "../../src/inference/stream/sse-tap.ts";
import type { StartHost } from "../host.ts";
import { hostWithStub } from "../host-for.ts";
import { alertsOf, settledOne } from "./audit.ts";
import { chunksIn, eventData } from "./chat-stream.ts";
import { SMALL, USD } from "./pay.ts";

const head = { id: "answer-1", object: "chat.completion.chunk", created: 1_760_000_000, model: "sim-small" };
const event = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: unknown, reason: string | null = null, more: object = {}): object => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: reason }],
  ...more,
});
const counts = { prompt_tokens: 40, completion_tokens: 4, total_tokens: 44 };
const operators = { ...counts, cost: 9.87, is_byok: true, cost_details: { upstream_inference_cost: 9.87 } };
const USAGE_NANO_USD = 40 * SMALL.promptNanoUsd + 4 * SMALL.completionNanoUsd;
const WORDS = ["The", " weather", " is", " good"].map((content) => event(chunk({ content }))).join("");
const DONE = event("[DONE]");
const MAX_TOKENS = 1_000;

/** Streams as some providers send them, or as none should: for every host. */
export function testOddStreams(startHost: StartHost): void {
  describe("a stream that is not quite as it should be", () => {
    const { host, provider } = hostWithStub(startHost);

    async function answered(body: string, includeUsage = true) {
      provider.say({ headers: { "content-type": "text/event-stream" }, body });
      const account = await host.account(USD);
      const request = {
        model: "sim-small",
        messages: [{ role: "user", content: "x" }],
        max_tokens: MAX_TOKENS,
        stream: true,
        ...(includeUsage ? { stream_options: { include_usage: true } } : {}),
      };
      const response = await host.call("/v1/chat/completions", { key: account.key, body: request });
      assert.equal(response.status, 200);
      const text = await response.text();
      const settled = await settledOne(host, account.address);
      const { receipt, detail } = settled;
      const promptNanoUsd = receipt.heldNanoUsd - MAX_TOKENS * SMALL.completionNanoUsd;
      const tokens = (receipt.chargeNanoUsd - promptNanoUsd) / SMALL.completionNanoUsd;
      const { models, usage: alerts } = await alertsOf(host, receipt.id);
      // The shown cost is the charge.
      const costs = chunksIn(text).flatMap(({ usage }) => (usage === undefined ? [] : [usage.cost_nano_usd]));
      assert.deepEqual(costs, costs.length === 0 ? [] : [receipt.chargeNanoUsd]);
      if (eventData(text).includes("[DONE]")) assert.equal(costs.length, includeUsage ? 1 : 0);
      return { text, receipt, basis: detail.basis, promptNanoUsd, tokens, models, alerts };
    }

    function assertCut(text: string): void {
      assert.ok(!eventData(text).includes("[DONE]"), text);
      assert.equal(chunksIn(text).at(-1)?.error?.code, "upstream_error", text);
    }

    test("whose last content brings the usage shows ours alone, and only if it was asked for", async () => {
      for (const last of [chunk({}, "stop"), chunk({ content: "." }, "stop")]) {
        const body = WORDS + event({ ...last, usage: operators, provider: "Other", cost: 9.87 }) + DONE;
        const shown = await answered(body);
        assert.deepEqual([shown.receipt.chargeNanoUsd, shown.basis], [USAGE_NANO_USD, "usage"]);
        const usages = chunksIn(shown.text).filter(({ usage }) => usage !== undefined);
        assert.deepEqual(
          usages.map(({ usage }) => [usage?.cost_nano_usd, usage?.is_byok]),
          [[USAGE_NANO_USD, undefined]],
        );
        const unasked = await answered(body, false);
        assert.ok(!unasked.text.includes("usage"), unasked.text);
        for (const { text } of [shown, unasked]) assert.doesNotMatch(text, /9\.87|byok|cost_details|Other/);
      }
    });

    test("that is cut after a usage and more content is an error, and costs the more of the two", async () => {
      const first = event({
        ...chunk({ content: "It" }),
        usage: { ...counts, completion_tokens: 1, total_tokens: 41 },
      });
      const cut = await answered(first + WORDS);
      assertCut(cut.text);
      assert.equal(cut.basis, "delivered");
      assert.ok(cut.tokens >= 5 && cut.tokens < 30, `${cut.tokens} tokens`);
      const running = event({ ...head, choices: [], usage: { ...counts, prompt_tokens: 300, completion_tokens: 900 } });
      const dear = await answered(running + WORDS);
      assertCut(dear.text);
      const atLeast = 300 * SMALL.promptNanoUsd + 900 * SMALL.completionNanoUsd;
      assert.ok(dear.receipt.chargeNanoUsd >= atLeast && dear.receipt.chargeNanoUsd <= dear.receipt.heldNanoUsd);
    });

    test("that ends without [DONE] and without a finish reason is an error, and costs its usage if that came last", async () => {
      const { text, receipt } = await answered(WORDS + event({ ...head, choices: [], usage: counts }));
      assertCut(text);
      assert.equal(receipt.chargeNanoUsd, USAGE_NANO_USD);
      const { text: whole } = await answered(
        WORDS + event(chunk({}, "stop")) + event({ ...head, choices: [], usage: counts }),
      );
      assert.ok(chunksIn(whole).every(({ error }) => error === undefined));
    });

    test("that cannot be read and delivered nothing is a loss, and one that the provider fails is none", async () => {
      const unreadable = [event("{no JSON"), event(chunk({ content: "x".repeat(MAX_EVENT_BYTES) }))];
      for (const body of unreadable) {
        const { receipt } = await answered(body + DONE.slice(0, 5));
        assert.deepEqual([receipt.chargeNanoUsd, receipt.lossNanoUsd], [0, receipt.heldNanoUsd], body.slice(0, 20));
      }
      const empty = await answered(": nothing\n\n");
      assert.deepEqual([empty.receipt.chargeNanoUsd, empty.receipt.lossNanoUsd], [0, empty.promptNanoUsd]);
      const { receipt } = await answered(event({ error: { message: "no" } }));
      assert.deepEqual([receipt.chargeNanoUsd, receipt.lossNanoUsd], [0, 0]);
    });

    test("that another model answers is told to the operator once", async () => {
      const other = WORDS.replaceAll("sim-small", "other") + event({ ...head, choices: [], usage: counts }) + DONE;
      assert.deepEqual((await answered(other)).models, ["other"]);
      assert.deepEqual((await answered(WORDS + DONE)).models, []);
    });

    test("whose usage counts no completion has an unknown one, and the operator is told", async () => {
      const usage = { prompt_tokens: 40, total_tokens: 40 };
      const { text, basis, tokens, alerts } = await answered(WORDS + event({ ...head, choices: [], usage }) + DONE);
      assert.equal(basis, "delivered");
      assert.ok(tokens >= 4, `${tokens} tokens`);
      assert.equal(alerts.length, 1);
      assert.equal(chunksIn(text).find((chunk) => chunk.usage !== undefined)?.usage?.estimated, true);
    });

    test("with a second answer after [DONE] costs what the first used, and the rest is a loss", async () => {
      const usageOf = (completion_tokens: number) =>
        event({ ...head, choices: [], usage: { ...counts, completion_tokens } });
      const second = WORDS + usageOf(900) + DONE;
      const first = await answered(WORDS + usageOf(4) + DONE + second);
      const rest = 896 * SMALL.completionNanoUsd;
      assert.deepEqual([first.receipt.chargeNanoUsd, first.receipt.lossNanoUsd], [USAGE_NANO_USD, rest]);
      const unknown = await answered(WORDS + DONE + second);
      assert.equal(unknown.basis, "delivered");
      assert.ok(unknown.tokens < 30, `${unknown.tokens} tokens`);
      assert.equal(unknown.receipt.chargeNanoUsd + unknown.receipt.lossNanoUsd, USAGE_NANO_USD + rest);
    });

    test("whose rest cannot be read after some content costs that, and the rest of the hold is a loss", async () => {
      const { text, basis, receipt } = await answered(WORDS + event("{no JSON") + DONE);
      assertCut(text);
      assert.equal(basis, "delivered");
      assert.equal(receipt.chargeNanoUsd + receipt.lossNanoUsd, receipt.heldNanoUsd);
    });

    test("whose usage is unknown costs less than three times its tokens, and six for the answer itself", async () => {
      const sentence = " The quick brown fox jumps over the lazy dog and the weather is good today.";
      const body = Array.from({ length: 20 }, () => event(chunk({ content: sentence }))).join("") + DONE;
      const { basis, tokens } = await answered(body);
      const real = 20 * 16;
      assert.equal(basis, "delivered");
      assert.ok(tokens >= real && tokens <= 3 * real + 6, `${tokens} for ${real}`);
    });
  });
}
