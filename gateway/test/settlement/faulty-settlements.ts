import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAULTS } from "@inference/provider-simulator/faults";
import { limits } from "../../src/config.ts";
import type { HostUnderTest, StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { checkSums } from "./audit.ts";
import { chunksIn, eventData } from "./chat-stream.ts";
import {
  type Answer,
  assertBilledExactly,
  assertFree,
  assertLost,
  assertPromptLost,
  chatBody,
  type Paid,
  pay,
  SMALL,
  withFault,
} from "./pay.ts";

const CHAT = "/v1/chat/completions";

/** The outcome of a fault. */
type Ending =
  /** Refused, or nothing of it reached the client: free. */
  | "free"
  /** Free, and the provider's reported usage is a loss. */
  | "lost"
  /** Free, and the possible bill without a report is a loss: the prompt of a stream, else the hold. */
  | "maybe"
  /** As free, and the hold is a loss: the gateway does not read it. */
  | "unread"
  /** As if there had been no fault. */
  | "billed"
  /** The same, and the operator is told that some usage makes no sense. */
  | "told"
  /** At the prices that were listed, though the provider bills another model's. */
  | "listed"
  /** Broken off, or without a usage: at least what was delivered, at most the hold. */
  | "delivered"
  /** The same, and the operator is told that the usage makes no sense. */
  | "malformed"
  /** The hold, a loss for the rest, and the operator is told. */
  | "above"
  /** Nothing ever ends it but the client's leaving: has a test of its own below. */
  | "endless";

/** By fault: as a stream, and whole. */
const chatEndings: Record<string, readonly [stream: Ending, whole: Ending]> = {
  "hang-before-headers": ["endless", "endless"],
  "200-error-only": ["free", "free"],
  "error-then-usage": ["lost", "lost"],
  "error-after-content": ["delivered", "free"],
  "error-then-content": ["delivered", "billed"],
  "cut-mid-stream": ["delivered", "maybe"],
  "cut-fin": ["delivered", "maybe"],
  "cut-before-done": ["delivered", "maybe"],
  stall: ["endless", "endless"],
  "endless-body": ["endless", "endless"],
  "no-usage": ["delivered", "delivered"],
  "trailing-garbage": ["delivered", "billed"],
  gzip: ["unread", "unread"],
  remap: ["listed", "listed"],
  "usage-negative": ["malformed", "malformed"],
  "usage-fractional": ["malformed", "malformed"],
  "usage-text": ["malformed", "malformed"],
  "usage-nan": ["malformed", "malformed"],
  "usage-absurd": ["malformed", "malformed"],
  "usage-int32": ["malformed", "malformed"],
  "usage-1e400": ["malformed", "malformed"],
  "usage-zeros": ["malformed", "malformed"],
  "usage-total-only": ["delivered", "delivered"],
  "usage-subcounts": ["malformed", "malformed"],
  "usage-above-bound": ["above", "above"],
  "usage-worsens": ["malformed", "malformed"],
  "usage-mends": ["told", "billed"],
  "usage-null-everywhere": ["billed", "delivered"],
};
const harmless =
  "slow-drip byte-drip split-utf8 split-data crlf cr mixed-endings bom no-space multiline-data many-per-chunk big-event comments done-twice trailing-after-done usage-repeated".split(
    " ",
  );
for (const name of harmless) chatEndings[name] = ["billed", "billed"];

/** Streams that a client must not take for whole ones. */
const brokenStreams = new Set(
  "200-error-only error-then-usage error-after-content error-then-content cut-mid-stream cut-fin trailing-garbage".split(
    " ",
  ),
);

const ENDLESS = "endless-headers";
/** Above the size of an answer that is gathered before it is sent. */
const LARGE_IMAGE_BYTES = 2 * limits.gatheredAnswerBytes;
/** Answers that stand in place of the real one: what the client is told. */
const refusals: Record<string, readonly [status: number, code: string]> = {
  "400-schema": [400, "invalid_request"],
  "400-openai": [400, "context_length_exceeded"],
  "400-provider": [400, "invalid_request"],
  "401": [503, "upstream_unavailable"],
  "401-key-in-body": [503, "upstream_unavailable"],
  "401-model": [404, "model_not_found"],
  "402-balance": [503, "upstream_unavailable"],
  "402-key-limit": [503, "upstream_unavailable"],
  "402-diem-limit": [503, "upstream_unavailable"],
  "402-wallet": [503, "upstream_unavailable"],
  "403": [404, "model_not_found"],
  "403-flagged": [400, "content_policy_violation"],
  "404": [503, "upstream_unavailable"],
  "409": [502, "upstream_error"],
  "410": [503, "upstream_unavailable"],
  "413": [413, "request_too_large"],
  "415": [502, "upstream_error"],
  "422": [400, "content_policy_violation"],
  "422-fields": [400, "invalid_request"],
  "429": [503, "upstream_unavailable"],
  "429-retry-after": [503, "upstream_unavailable"],
  "429-budget": [503, "upstream_unavailable"],
  "500": [502, "upstream_error"],
  "500-large": [502, "upstream_error"],
  "502": [502, "upstream_error"],
  "503": [503, "upstream_unavailable"],
  "503-offline": [503, "upstream_unavailable"],
  "504": [504, "upstream_timeout"],
  "html-200": [502, "upstream_error"],
  "204": [502, "upstream_error"],
  redirect: [502, "upstream_error"],
  "reset-before-headers": [502, "upstream_error"],
  "fin-before-headers": [502, "upstream_error"],
  [ENDLESS]: [502, "upstream_error"],
};
/** Those of them by which the provider does not say that it failed. */
const mayBeBilled = new Set(["html-200", "204", "reset-before-headers", "fin-before-headers", ENDLESS]);

/** One fault for each outcome. The deep run tries all of them everywhere. */
export const typicalFaults: ReadonlySet<string> = new Set(
  [
    ...Map.groupBy(Object.keys(chatEndings), (name) => chatEndings[name]?.join()).values(),
    ...Map.groupBy(Object.keys(refusals), (name) => `${refusals[name]} ${mayBeBilled.has(name)}`).values(),
  ].flatMap(([first]) => first ?? []),
);
const isDeep = process.env.DEEP === "1";
export const routeBodies: Record<string, (text: string) => object> = {
  [CHAT]: (text) => chatBody("sim-small", text)(""),
  "/v1/embeddings": (text) => ({ model: "sim-embedding", input: text }),
  "/v1/images/generations": (text) => ({ model: "sim-image", prompt: text }),
  "/v1/image/generate": (text) => ({ model: "sim-image", prompt: text, return_binary: true }),
  "/v1/audio/speech": (text) => ({ model: "sim-speech", input: text }),
};

/** The settlement matrix where the provider does something wrong: for every host. */
export function testFaultySettlements(startHost: StartHost): void {
  describe("whatever the provider does wrong, the client owes what it got", () => {
    const host = hostFor(
      startHost,
      {},
      {
        simulator: { errorBudget: null, slowDripMs: 1, bigEventBytes: 1024 * 1024, largeImageBytes: LARGE_IMAGE_BYTES },
        check: checkSums,
      },
    );

    test("every fault of the simulator has its end here", () => {
      const namesAt = (...stages: string[]): string[] =>
        Object.keys(FAULTS)
          .filter((name) => stages.includes(FAULTS[name]?.stage ?? ""))
          .sort();
      const forChat = [...Object.keys(chatEndings), ...Object.keys(refusals)].sort();
      assert.deepEqual(namesAt("answer", "socket", "stream", "usage"), forChat);
      assert.deepEqual(namesAt("image"), Object.keys(imageEndings).sort());
      assert.deepEqual(namesAt("speech"), Object.keys(speechEndings).sort());
      assert.equal(
        namesAt("answer", "socket", "stream", "usage", "image", "speech").length,
        Object.keys(FAULTS).length,
      );
    });

    async function assertRefused(path: string, fault: string): Promise<Paid> {
      const paid = await pay(host, path, (tag) => routeBodies[path]?.(tag + withFault(fault)) ?? {});
      assert.deepEqual([paid.status, JSON.parse(paid.text).error.code], refusals[fault], paid.text);
      if (mayBeBilled.has(fault)) assertLost(paid);
      else assertFree(paid);
      // The model gets no request before the provider's Retry-After.
      if (fault === "429-retry-after") await host.goTo(host.now() + 30_000);
      return paid;
    }

    for (const path of Object.keys(routeBodies)) {
      test(`POST ${path}: refused, failed or broken off before the answer is free`, async (t) => {
        for (const fault of Object.keys(refusals)) {
          if (fault === ENDLESS || !(isDeep || path === CHAT || typicalFaults.has(fault))) continue;
          await t.test(fault, async () => assert.equal((await assertRefused(path, fault)).bill, 0));
        }
      });
    }

    // The one thing here that we walk away from.
    test(`${ENDLESS} are free on every route`, async () => {
      await Promise.all(Object.keys(routeBodies).map((path) => assertRefused(path, ENDLESS)));
    });

    for (const [fault, [stream, whole]] of Object.entries(chatEndings)) {
      // Few tokens where each byte has its own write.
      const markers = withFault(fault, fault === "byte-drip" ? "[[tokens=2]]" : "[[tokens=30]]");
      if (stream !== "endless") {
        test(`chat stream, ${fault}: ${stream}`, async () => {
          const paid = await pay(host, CHAT, chatBody("sim-small", markers, { stream: true }));
          const isStream = paid.status === 200;
          await assertEnding(host, paid, stream, isStream ? countTokens(paid.text) : 0);
          if (isStream && fault === "cut-before-done") assertFinished(paid.text);
          else if (isStream) assertStreamEnds(paid.text, brokenStreams.has(fault));
        });
      }
      // A whole answer does not have the faults of a stream.
      if (whole !== "endless" && (isDeep || !harmless.includes(fault))) {
        test(`chat, ${fault}: ${whole}`, async () => {
          const paid = await pay(host, CHAT, chatBody("sim-small", markers));
          const tokens = paid.status === 200 ? 30 : 0;
          await assertEnding(host, paid, whole, tokens);
        });
      }
    }

    test("usage far above a small bound is the hold all the same, and a loss for the rest", async () => {
      for (const stream of [false, true]) {
        const markers = withFault("usage-above-bound");
        const paid = await pay(host, CHAT, chatBody("sim-small", markers, { max_tokens: 2, stream }));
        await assertEnding(host, paid, "above", 2);
      }
    });

    test("embeddings whose usage is missing or malformed cost their bound", async () => {
      for (const fault of ["no-usage", "usage-negative", "usage-text", "usage-1e400", "usage-fractional"]) {
        const paid = await pay(host, "/v1/embeddings", (tag) => ({
          model: "sim-embedding",
          input: tag + withFault(fault),
        }));
        assert.equal(paid.status, 200, paid.text);
        assert.equal(paid.receipt.chargeNanoUsd, paid.receipt.heldNanoUsd, fault);
        assert.equal(paid.alerts.length, fault === "no-usage" ? 0 : 1, fault);
      }
    });

    const imageEndings: Record<string, Ending> = {
      "image-violation": "free",
      "image-blurred": "billed",
      "image-large": "billed",
      "image-cut": "maybe",
    };
    for (const [fault, ending] of Object.entries(imageEndings)) {
      for (const path of ["/v1/image/generate", "/v1/images/generations"]) {
        test(`POST ${path}, ${fault}: ${ending}`, async () => {
          const paid = await pay(host, path, (tag) => ({ model: "sim-image", prompt: tag + withFault(fault) }));
          assert.equal(paid.status, fault === "image-cut" ? 502 : 200);
          if (ending === "free") assertFree(paid);
          else if (ending === "maybe") assertLost(paid);
          else assertBilledExactly(paid);
        });
      }
    }

    const speechEndings: Record<string, Ending> = {
      "speech-cut": "delivered",
      "speech-error": "free",
      "speech-empty": "maybe",
    };
    for (const [fault, ending] of Object.entries(speechEndings)) {
      for (const streaming of [false, true]) {
        test(`speech${streaming ? " as it is made" : ""}, ${fault}: ${ending}`, async () => {
          const body = (tag: string) => ({
            model: "sim-speech",
            input: `${tag + withFault(fault)} ${"words ".repeat(50)}`,
            streaming,
          });
          const paid = await pay(host, "/v1/audio/speech", body);
          assert.equal(paid.status, ending === "delivered" ? 200 : 502);
          if (ending === "free") assertFree(paid);
          else if (ending === "maybe") assertLost(paid);
          else {
            assert.ok(paid.broken, "half of it looks like all of it");
            assert.ok(paid.receipt.chargeNanoUsd >= paid.bill && paid.bill > 0);
            assert.ok(paid.receipt.chargeNanoUsd <= paid.receipt.heldNanoUsd);
          }
        });
      }
    }

    test("in place of a usage that cannot be read, an answer shows the charge, marked as an estimate", async () => {
      const malformed = Object.keys(chatEndings).filter((name) => chatEndings[name]?.[1] === "malformed");
      for (const fault of malformed.filter((_, index) => isDeep || index % 4 === 0)) {
        const whole = await pay(host, CHAT, chatBody("sim-small", withFault(fault)));
        const { usage } = JSON.parse(whole.text) as { usage: { cost_nano_usd: number; estimated?: boolean } };
        assert.deepEqual(
          [usage.cost_nano_usd, usage.estimated],
          [whole.receipt.chargeNanoUsd, whole.detail.basis === "usage" ? undefined : true],
          fault,
        );
        const shown = { stream: true, stream_options: { include_usage: true } };
        const stream = await pay(host, CHAT, chatBody("sim-small", withFault(fault), shown));
        const usages = chunksIn(stream.text).flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
        assert.deepEqual(
          usages.map((usage) => [usage.cost_nano_usd, usage.estimated]),
          [[stream.receipt.chargeNanoUsd, stream.detail.basis === "usage" ? undefined : true]],
          fault,
        );
      }
    });

    test("an answer that is compressed against our wish is an error, on every route", async () => {
      for (const [path, makeBody] of Object.entries(routeBodies)) {
        const paid = await pay(host, path, (tag) => makeBody(tag + withFault("gzip")));
        assert.deepEqual([paid.status, JSON.parse(paid.text).error?.code], [502, "upstream_error"], path);
        assertLost(paid);
      }
    });
  });
}

async function assertEnding(host: HostUnderTest, paid: Paid & Answer, ending: Ending, tokens: number): Promise<void> {
  assert.equal(paid.broken, false);
  const { receipt, bill, alerts } = paid;
  const { chargeNanoUsd, lossNanoUsd, state } = receipt;
  const usage = host.simulator.simulator.records.select(({ requestId }) => requestId === paid.detail.upstreamId, 1)[0]
    ?.usage;
  switch (ending) {
    case "free":
      return assertFree(paid);
    case "maybe":
      return paid.detail.stream ? assertPromptLost(paid) : assertLost(paid);
    case "unread":
      return assertLost(paid);
    case "lost":
      assert.ok(bill > 0);
      return assert.deepEqual([state, chargeNanoUsd, lossNanoUsd, alerts], ["released", 0, bill, []]);
    case "billed":
      return assertBilledExactly(paid);
    case "told":
      assert.equal(alerts.length, 1);
      return assertBilledExactly({ ...paid, alerts: [] });
    case "listed": {
      const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
      const listed = promptTokens * SMALL.promptNanoUsd + completionTokens * SMALL.completionNanoUsd;
      assert.ok(listed > 0 && bill > listed);
      return assert.deepEqual([state, chargeNanoUsd, alerts], ["settled", listed, []]);
    }
    case "above":
      assert.deepEqual(
        [state, chargeNanoUsd, lossNanoUsd],
        ["settled", receipt.heldNanoUsd, bill - receipt.heldNanoUsd],
      );
      assert.ok(lossNanoUsd > 0);
      return assert.equal(alerts.length, 1);
    case "delivered":
    case "malformed": {
      assert.ok(tokens > 0, "nothing was delivered");
      const delivered = (usage?.promptTokens ?? 0) * SMALL.promptNanoUsd + tokens * SMALL.completionNanoUsd;
      assert.equal(state, "settled");
      assert.ok(chargeNanoUsd >= delivered, `${chargeNanoUsd} is less than the ${delivered} delivered`);
      assert.ok(chargeNanoUsd <= receipt.heldNanoUsd);
      return assert.equal(alerts.length, ending === "malformed" ? 1 : 0, `alerts: ${alerts}`);
    }
    case "endless":
      return assert.fail("not to be met here");
  }
}

/** In [DONE], once; or in one error of our shape, and no [DONE]. */
function assertStreamEnds(text: string, isBroken: boolean): void {
  const events = eventData(text);
  const errors = chunksIn(text).flatMap(({ error }) => error ?? []);
  assert.equal(events.filter((data) => data === "[DONE]").length, isBroken ? 0 : 1);
  assert.equal(errors.length, isBroken ? 1 : 0);
  assert.ok(events.at(-1)?.startsWith(isBroken ? '{"error":{"message":' : "[DONE]"), "the last event is another one");
  for (const error of errors) assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"]);
}

/** In a finish reason, and nothing after it: the provider sent no [DONE], and the answer is whole. */
function assertFinished(text: string): void {
  assert.match(eventData(text).at(-1) ?? "", /"finish_reason":"stop"/);
  assert.ok(!/^data: \[DONE\]/m.test(text) && !text.includes('"error"'));
}

function countTokens(text: string): number {
  return chunksIn(text).filter(({ choices }) => choices?.some(({ delta }) => (delta?.content ?? "") !== "")).length;
}
