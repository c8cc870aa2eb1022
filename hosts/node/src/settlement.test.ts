import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { formatUsd } from "@inference/protocol/money";
import { FAULTS } from "@inference/provider-simulator/faults";
import { checkSums, settledOne } from "./testing/audit.ts";
import { chunksIn, eventData } from "./testing/chat-stream.ts";
import {
  type Answer,
  assertBilledExactly,
  assertFree,
  chatBody,
  type Paid,
  pay,
  SMALL,
  USD,
  withFault,
} from "./testing/pay.ts";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";
import { withAnswer } from "./testing/stub-provider.ts";

/** Every row of the settlement matrix, against what the provider says it bills. */

describe("with its usage known, a request is charged what the provider bills, to the nano-dollar", () => {
  let stack: Stack;
  const accounts: TestAccount[] = [];
  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  const tools = [{ type: "function", function: { name: "look_up", parameters: { type: "object", properties: {} } } }];
  const filler = "many words of a long prompt ".repeat(220);
  const chats: Record<string, (tag: string) => object> = {
    plain: chatBody("sim-small", "[[tokens=37]]"),
    "up to its maximum": chatBody("sim-small", "[[tokens=500]]"),
    "with a maximum left out": (tag) => ({ model: "sim-small", messages: [{ role: "user", content: tag }] }),
    "cached prompt": chatBody("sim-large", "[[prompt=150]][[cached=128]]"),
    "cache read and write": chatBody("sim-cached", "[[prompt=200]][[cached=100]][[cache-write=64]]"),
    "at the long-context threshold": chatBody("sim-extended-low", `${filler}[[prompt=1000]]`),
    "above the long-context threshold": chatBody("sim-extended-low", `${filler}[[prompt=1001]]`),
    free: chatBody("sim-free", ""),
    "float noise in the price": chatBody("sim-noisy", "[[tokens=33]]"),
    "the finest price": chatBody("sim-fine", "[[tokens=7]]"),
    reasoning: chatBody("sim-reasoning", "[[tokens=50]][[reasoning=32]]"),
    "three choices": chatBody("sim-small", "[[tokens=11]]", { n: 3 }),
    "a tool call": chatBody("sim-small", "[[finish=tool_calls]]", { tools }),
    "filtered content": chatBody("sim-small", "[[finish=content_filter]]"),
    "the tightest context": chatBody("sim-tiny-context", "[[tokens=128]]", { max_tokens: 128 }),
    dear: chatBody("sim-dear", "[[tokens=100]]"),
  };
  for (const [name, makeBody] of Object.entries(chats)) {
    test(`chat, ${name}`, async () => {
      const whole = await pay(stack, "/v1/chat/completions", makeBody);
      const shown = { stream_options: { include_usage: true } };
      const stream = await pay(stack, "/api/v1/chat/completions", (tag) => ({
        ...makeBody(tag),
        stream: true,
        ...shown,
      }));
      for (const paid of [whole, stream]) {
        assert.equal(paid.status, 200, paid.text);
        assertBilledExactly(paid);
        accounts.push(paid.account);
      }
      assert.ok(whole.text.includes(`"cost":${formatUsd(whole.receipt.chargeNanoUsd)}`), whole.text);
      const [usage, ...more] = chunksIn(stream.text).filter((chunk) => chunk.usage);
      assert.equal(more.length, 0, "one usage chunk");
      assert.equal(usage?.usage?.cost, Number(formatUsd(stream.receipt.chargeNanoUsd)));
      assert.equal(eventData(stream.text).at(-1), "[DONE]");
    });
  }

  const input = (tag: string): string => `${tag} some text of some length, with é and 本語`;
  const prompt = input;
  const others: Record<string, [path: string, makeBody: (tag: string) => object]> = {
    "an embedding": ["/v1/embeddings", (tag) => ({ model: "sim-embedding", input: input(tag) })],
    "embeddings of many": [
      "/v1/embeddings",
      (tag) => ({ model: "sim-embedding", input: [tag, ...Array.from({ length: 99 }, (_, index) => `text ${index}`)] }),
    ],
    "embeddings of chosen size": [
      "/v1/embeddings",
      (tag) => ({ model: "sim-embedding-wide", input: [input(tag)], dimensions: 64, encoding_format: "base64" }),
    ],
    "an image": ["/v1/images/generations", (tag) => ({ model: "sim-image", prompt: prompt(tag) })],
    "an image by size": [
      "/v1/images/generations",
      (tag) => ({ model: "sim-image-sizes", prompt: prompt(tag), size: "1024x1024" }),
    ],
    "an image of the usual size and quality": [
      "/v1/images/generations",
      (tag) => ({ model: "sim-image-quality", prompt: prompt(tag), size: "auto" }),
    ],
    "an image as url": [
      "/v1/images/generations",
      (tag) => ({ model: "sim-image", prompt: prompt(tag), response_format: "url", output_format: "jpeg" }),
    ],
    "an image, natively": ["/v1/image/generate", (tag) => ({ model: "sim-image", prompt: prompt(tag) })],
    "an image of default resolution and quality": [
      "/v1/image/generate",
      (tag) => ({ model: "sim-image-quality", prompt: prompt(tag) }),
    ],
    "four variants": ["/v1/image/generate", (tag) => ({ model: "sim-image", prompt: prompt(tag), variants: 4 })],
    "three large variants": [
      "/v1/image/generate",
      (tag) => ({ model: "sim-image-sizes", prompt: prompt(tag), variants: 3, resolution: "4K" }),
    ],
    "an image as bytes": [
      "/v1/image/generate",
      (tag) => ({ model: "sim-image", prompt: prompt(tag), return_binary: true, format: "png" }),
    ],
    speech: ["/v1/audio/speech", (tag) => ({ model: "sim-speech", input: input(tag) })],
    "speech of characters beyond 16 bits": [
      "/v1/audio/speech",
      (tag) => ({ model: "sim-speech-hd", input: `${tag} \u{1f642}\u{1f680}` }),
    ],
    "speech as it is made": [
      "/v1/audio/speech",
      (tag) => ({ model: "sim-speech", input: input(tag), streaming: true, response_format: "wav", voice: "am_adam" }),
    ],
  };
  for (const resolution of ["1K", "2K", "4K"]) {
    for (const quality of ["low", "medium", "high"]) {
      others[`an image of ${resolution} in ${quality} quality`] = [
        "/v1/image/generate",
        (tag) => ({ model: "sim-image-quality", prompt: prompt(tag), resolution, quality, variants: 2 }),
      ];
    }
  }
  for (const [name, [path, makeBody]] of Object.entries(others)) {
    test(name, async () => {
      const paid = await pay(stack, path, makeBody);
      assert.equal(paid.status, 200, paid.text);
      assertBilledExactly(paid);
      assert.ok(paid.bill > 0);
      accounts.push(paid.account);
    });
  }

  test("altogether: accounts, journals, the ceiling and the provider's total are one number", async () => {
    const charged = await checkSums(
      stack,
      accounts.map(({ address }) => address),
    );
    assert.equal(charged, Number(stack.simulator.simulator.ledger.totals.nano));
  });
});

/** What a fault comes to. */
type Ending =
  /** Refused, or nothing of it reached the client: free. */
  | "free"
  /** As if there had been no fault. */
  | "billed"
  /** At the prices that were listed, though the provider bills another model's. */
  | "listed"
  /** Broken off, or without a usage: at least what was delivered, at most the hold. */
  | "delivered"
  /** The same, and the operator is told that the usage makes no sense. */
  | "malformed"
  /** The hold, a loss for the rest, and the operator is told. */
  | "above"
  /** A usage of nothing is charged nothing. */
  | "zero"
  /** Nothing ever ends it but the client's leaving: has a test of its own below. */
  | "endless";

/** By fault: as a stream, and whole. */
const chatEndings: Record<string, readonly [stream: Ending, whole: Ending]> = {
  "hang-before-headers": ["endless", "endless"],
  "200-error-only": ["free", "free"],
  "error-after-content": ["delivered", "free"],
  "error-then-content": ["delivered", "billed"],
  "cut-mid-stream": ["delivered", "free"],
  "cut-fin": ["delivered", "free"],
  "cut-before-done": ["delivered", "free"],
  stall: ["endless", "endless"],
  "endless-body": ["endless", "endless"],
  "no-usage": ["delivered", "delivered"],
  "trailing-garbage": ["delivered", "billed"],
  gzip: ["free", "free"],
  remap: ["listed", "listed"],
  "usage-negative": ["malformed", "malformed"],
  "usage-fractional": ["malformed", "malformed"],
  "usage-text": ["malformed", "malformed"],
  "usage-nan": ["malformed", "malformed"],
  "usage-absurd": ["malformed", "malformed"],
  "usage-int32": ["malformed", "malformed"],
  "usage-1e400": ["malformed", "malformed"],
  "usage-zeros": ["zero", "zero"],
  "usage-total-only": ["delivered", "delivered"],
  "usage-subcounts": ["malformed", "malformed"],
  "usage-above-bound": ["above", "above"],
  "usage-null-everywhere": ["billed", "delivered"],
};
const harmless =
  "slow-drip byte-drip split-utf8 split-data crlf cr mixed-endings bom no-space multiline-data many-per-chunk big-event comments done-twice trailing-after-done usage-repeated";
for (const name of harmless.split(" ")) chatEndings[name] = ["billed", "billed"];

/** Streams that a client must not take for whole ones. */
const brokenStreams = new Set(
  "200-error-only error-after-content error-then-content cut-mid-stream cut-fin cut-before-done trailing-garbage".split(
    " ",
  ),
);

/** Answers that stand in place of the real one: what the client is told. */
const refusals: Record<string, readonly [status: number, code: string]> = {
  "400-schema": [400, "invalid_request"],
  "400-openai": [400, "context_length_exceeded"],
  "400-provider": [400, "invalid_request"],
  "401": [503, "upstream_unavailable"],
  "401-key-in-body": [503, "upstream_unavailable"],
  "402-balance": [503, "upstream_unavailable"],
  "402-key-limit": [503, "upstream_unavailable"],
  "402-diem-limit": [503, "upstream_unavailable"],
  "402-wallet": [503, "upstream_unavailable"],
  "403": [503, "upstream_unavailable"],
  "404": [503, "upstream_unavailable"],
  "409": [502, "upstream_error"],
  "410": [503, "upstream_unavailable"],
  "413": [413, "request_too_large"],
  "415": [502, "upstream_error"],
  "422": [400, "content_policy_violation"],
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
  "endless-headers": [502, "upstream_error"],
};
const routeBodies: Record<string, (text: string) => object> = {
  "/v1/chat/completions": (text) => chatBody("sim-small", text)(""),
  "/v1/embeddings": (text) => ({ model: "sim-embedding", input: text }),
  "/v1/images/generations": (text) => ({ model: "sim-image", prompt: text }),
  "/v1/image/generate": (text) => ({ model: "sim-image", prompt: text, return_binary: true }),
  "/v1/audio/speech": (text) => ({ model: "sim-speech", input: text }),
};

describe("whatever the provider does wrong, the client owes what it got", () => {
  let stack: Stack;
  const accounts: TestAccount[] = [];
  before(async () => {
    stack = await startStack();
    stack.simulator.simulator.change({ errorBudget: null, slowDripMs: 1, bigEventBytes: 1024 * 1024 });
  });
  after(async () => {
    await checkSums(
      stack,
      accounts.map(({ address }) => address),
    );
    await stack.stop();
  });

  test("every fault of the simulator has its end here", () => {
    const namesAt = (...stages: string[]): string[] =>
      Object.keys(FAULTS)
        .filter((name) => stages.includes(FAULTS[name]?.stage ?? ""))
        .sort();
    const forChat = [...Object.keys(chatEndings), ...Object.keys(refusals)].sort();
    assert.deepEqual(namesAt("answer", "socket", "stream", "usage"), forChat);
    assert.deepEqual(namesAt("image"), Object.keys(imageEndings).sort());
    assert.deepEqual(namesAt("speech"), Object.keys(speechEndings).sort());
    assert.equal(namesAt("answer", "socket", "stream", "usage", "image", "speech").length, Object.keys(FAULTS).length);
  });

  for (const [path, makeBody] of Object.entries(routeBodies)) {
    test(`POST ${path}: refused, failed or broken off before the answer is free`, async (t) => {
      for (const [fault, [status, code]] of Object.entries(refusals)) {
        await t.test(fault, async () => {
          const paid = await pay(stack, path, (tag) => makeBody(tag + withFault(fault)));
          accounts.push(paid.account);
          assert.deepEqual([paid.status, JSON.parse(paid.text).error.code], [status, code], paid.text);
          assertFree(paid);
          // Headers without end are the one thing here that we walk away from.
          if (fault !== "endless-headers") assert.equal(paid.bill, 0);
        });
      }
    });
  }

  for (const [fault, [stream, whole]] of Object.entries(chatEndings)) {
    // Few tokens where each byte has its own write.
    const markers = withFault(fault, fault === "byte-drip" ? "[[tokens=2]]" : "[[tokens=30]]");
    if (stream !== "endless") {
      test(`chat stream, ${fault}: ${stream}`, async () => {
        const paid = await pay(stack, "/v1/chat/completions", chatBody("sim-small", markers, { stream: true }));
        accounts.push(paid.account);
        const isStream = paid.status === 200;
        await assertEnding(stack, paid, stream, isStream ? countTokens(paid.text) : 0);
        if (isStream) assertStreamEnds(paid.text, brokenStreams.has(fault));
      });
    }
    if (whole !== "endless") {
      test(`chat, ${fault}: ${whole}`, async () => {
        const paid = await pay(stack, "/v1/chat/completions", chatBody("sim-small", markers));
        accounts.push(paid.account);
        const tokens = paid.status === 200 ? 30 : 0;
        await assertEnding(stack, paid, whole, tokens);
      });
    }
  }

  test("usage far above a small bound is the hold all the same, and a loss for the rest", async () => {
    for (const stream of [false, true]) {
      const markers = withFault("usage-above-bound");
      const paid = await pay(stack, "/v1/chat/completions", chatBody("sim-small", markers, { max_tokens: 2, stream }));
      accounts.push(paid.account);
      await assertEnding(stack, paid, "above", 2);
    }
  });

  test("embeddings whose usage is missing or malformed cost their bound", async () => {
    for (const fault of ["no-usage", "usage-negative", "usage-text", "usage-1e400", "usage-fractional"]) {
      const paid = await pay(stack, "/v1/embeddings", (tag) => ({
        model: "sim-embedding",
        input: tag + withFault(fault),
      }));
      accounts.push(paid.account);
      assert.equal(paid.status, 200, paid.text);
      assert.equal(paid.receipt.chargeNanoUsd, paid.hold.amountNanoUsd, fault);
      assert.equal(paid.alerts.length, fault === "no-usage" ? 0 : 1, fault);
    }
  });

  const imageEndings: Record<string, Ending> = {
    "image-violation": "free",
    "image-blurred": "billed",
    "image-large": "billed",
    "image-cut": "free",
  };
  for (const [fault, ending] of Object.entries(imageEndings)) {
    for (const path of ["/v1/image/generate", "/v1/images/generations"]) {
      test(`POST ${path}, ${fault}: ${ending}`, async () => {
        const paid = await pay(stack, path, (tag) => ({ model: "sim-image", prompt: tag + withFault(fault) }));
        accounts.push(paid.account);
        assert.equal(paid.status, fault === "image-cut" ? 502 : 200);
        if (ending === "free") assertFree(paid);
        else assertBilledExactly(paid);
      });
    }
  }

  const speechEndings: Record<string, Ending> = {
    "speech-cut": "delivered",
    "speech-error": "free",
    "speech-empty": "free",
  };
  for (const [fault, ending] of Object.entries(speechEndings)) {
    for (const streaming of [false, true]) {
      test(`speech${streaming ? " as it is made" : ""}, ${fault}: ${ending}`, async () => {
        const body = (tag: string) => ({
          model: "sim-speech",
          input: `${tag + withFault(fault)} ${"words ".repeat(50)}`,
          streaming,
        });
        const paid = await pay(stack, "/v1/audio/speech", body);
        accounts.push(paid.account);
        if (ending === "free") assertFree(paid);
        else {
          assert.ok(paid.broken, "half of it looks like all of it");
          assert.ok(paid.receipt.chargeNanoUsd >= paid.bill && paid.bill > 0);
          assert.ok(paid.receipt.chargeNanoUsd <= paid.hold.amountNanoUsd);
        }
      });
    }
  }

  test("an answer without what was asked for is an error, and free", async () => {
    const usedTokens = { data: {}, usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };
    const answers = [
      {},
      { error: null },
      { usage: null },
      { choices: null },
      { data: [] },
      { images: "none" },
      usedTokens,
    ];
    for (const answer of [...answers, [], null, "text", 7]) {
      const stub = { status: 200, contentType: "application/json", body: JSON.stringify(answer) };
      for (const [path, makeBody] of Object.entries(routeBodies)) {
        if (path === "/v1/audio/speech" || (path === "/v1/chat/completions" && answer === usedTokens)) continue;
        const account = await stack.account(USD);
        accounts.push(account);
        const refused = await withAnswer(stack, stub, () =>
          stack.call(path, { key: account.key, body: makeBody("x") }),
        );
        const { error } = (await refused.json()) as { error?: { code: string } };
        assert.deepEqual([refused.status, error?.code], [502, "upstream_error"], `${path} ${stub.body}`);
        const { receipt } = await settledOne(stack, account.address);
        assert.deepEqual([receipt.outcome, receipt.chargeNanoUsd], ["released", 0], `${path} ${stub.body}`);
      }
    }
  });

  test("a usage that cannot be read is shown to nobody", async () => {
    for (const fault of Object.keys(chatEndings).filter((name) => chatEndings[name]?.[1] === "malformed")) {
      const whole = await pay(stack, "/v1/chat/completions", chatBody("sim-small", withFault(fault)));
      const shown = { stream: true, stream_options: { include_usage: true } };
      const stream = await pay(stack, "/v1/chat/completions", chatBody("sim-small", withFault(fault), shown));
      accounts.push(whole.account, stream.account);
      assert.deepEqual([whole.text.includes('"usage"'), stream.text.includes('"usage"')], [false, false], fault);
    }
  });

  test("an answer that is compressed against our wish is an error, on every route", async () => {
    for (const [path, makeBody] of Object.entries(routeBodies)) {
      const paid = await pay(stack, path, (tag) => makeBody(tag + withFault("gzip")));
      accounts.push(paid.account);
      assert.deepEqual([paid.status, JSON.parse(paid.text).error?.code], [502, "upstream_error"], path);
      assertFree(paid);
    }
  });
});

async function assertEnding(stack: Stack, paid: Paid & Answer, ending: Ending, tokens: number): Promise<void> {
  assert.equal(paid.broken, false);
  const { receipt, hold, bill, alerts } = paid;
  const { chargeNanoUsd, lossNanoUsd, outcome } = receipt;
  const usage = stack.simulator.simulator.records.select(({ requestId }) => requestId === paid.detail.upstreamId, 1)[0]
    ?.usage;
  switch (ending) {
    case "free":
      return assertFree(paid);
    case "billed":
      return assertBilledExactly(paid);
    case "zero":
      return assert.deepEqual([outcome, chargeNanoUsd, lossNanoUsd, alerts], ["settled", 0, 0, []]);
    case "listed": {
      const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
      const listed = promptTokens * SMALL.promptNanoUsd + completionTokens * SMALL.completionNanoUsd;
      assert.ok(listed > 0 && bill > listed);
      return assert.deepEqual([outcome, chargeNanoUsd, alerts], ["settled", listed, []]);
    }
    case "above":
      assert.deepEqual(
        [outcome, chargeNanoUsd, lossNanoUsd],
        ["settled", hold.amountNanoUsd, bill - hold.amountNanoUsd],
      );
      assert.ok(lossNanoUsd > 0);
      return assert.equal(alerts.length, 1);
    case "delivered":
    case "malformed": {
      assert.ok(tokens > 0, "nothing was delivered");
      const delivered = (usage?.promptTokens ?? 0) * SMALL.promptNanoUsd + tokens * SMALL.completionNanoUsd;
      assert.equal(outcome, "settled");
      assert.ok(chargeNanoUsd >= delivered, `${chargeNanoUsd} is less than the ${delivered} delivered`);
      assert.ok(chargeNanoUsd <= hold.amountNanoUsd);
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

function countTokens(text: string): number {
  return chunksIn(text).filter(({ choices }) => choices?.some(({ delta }) => (delta?.content ?? "") !== "")).length;
}
