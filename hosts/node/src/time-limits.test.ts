import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hostFor } from "@inference/gateway/test/host-for";
import { settledOne } from "@inference/gateway/test/settlement/audit";
import { openChatStream } from "@inference/gateway/test/settlement/chat-stream";
import { type StubProvider, startStubProvider } from "@inference/gateway/test/settlement/stub-provider";
import { accountPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/**
 * Each limit of a request's time: a shorter request is served, a longer one is not. On Node alone: it sets the limits
 * that it measures.
 */
const USD = 1_000_000_000;
const limits = { bodyReadMs: 1_000, answerMs: 1_500, stalledReaderMs: 1_000 };

const stack = hostFor(() => startStack({ request: limits }));

const chat = (content: string) => ({
  model: "sim-small",
  max_tokens: 50,
  messages: [{ role: "user", content }],
});
const headersOf = ({ key }: TestAccount) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });

test("a body may take its time, and no more", async () => {
  const account = await stack.account(USD);
  const inTwoParts = async (pauseMs: number): Promise<number | undefined> => {
    const text = JSON.stringify(chat("hi"));
    const headers = { ...headersOf(account), "content-length": text.length };
    const sent = request(`${stack.url}/v1/chat/completions`, { method: "POST", headers, agent: false });
    const answered = new Promise<IncomingMessage>((resolve, reject) =>
      sent.on("response", resolve).on("error", reject),
    );
    sent.write(text.slice(0, 20));
    // The second part comes late for one who has been refused.
    const rest = sleep(pauseMs).then(() => sent.end(text.slice(20)));
    const { statusCode } = (await answered).resume();
    await rest;
    return statusCode;
  };
  assert.equal(await inTwoParts(limits.bodyReadMs / 20), 200);
  assert.equal(await inTwoParts(limits.bodyReadMs * 1.5), 408);
});

describe("the provider's answer", () => {
  for (const stream of [false, true]) {
    test(`is waited for, and given up past its time; stream: ${stream}`, async () => {
      const account = await stack.account(USD);
      const ask = async (delayMs: number): Promise<[number, string | undefined]> => {
        const body = { ...chat(`[[delay=${delayMs}]][[tokens=2]]`), stream };
        const answer = await stack.call("/v1/chat/completions", { key: account.key, body });
        const text = await answer.text();
        return [answer.status, /"code":"(\w+)"/.exec(text)?.[1]];
      };
      assert.deepEqual(await ask(limits.answerMs / 20), [200, undefined]);
      const before = await stack.balance(account.address);
      assert.deepEqual(await ask(limits.answerMs * 2), [504, "upstream_timeout"]);
      const { settledNanoUsd, heldNanoUsd } = await stack.balance(account.address);
      assert.ok(settledNanoUsd > before.settledNanoUsd, "the provider may bill it");
      assert.equal(heldNanoUsd, 0);
    });
  }

  test("may go on for longer, once its stream has begun", async () => {
    const account = await stack.account(USD);
    const stream = await openChatStream(stack, account, chat("[[drip=150]][[tokens=20]]"));
    // Twenty pauses of 150 ms: twice as long as an answer may take.
    assert.ok(await stream.readAll());
    assert.equal(stream.tokens(), 20);
    assert.match(stream.text(), /\[DONE\]/);
  });

  test("that comes whole is to be there whole by then", async () => {
    const account = await stack.account(USD);
    const body = chat("[[fault=stall]]");
    const answer = await stack.call("/v1/chat/completions", { key: account.key, body });
    assert.equal(answer.status, 504, await answer.text());
    assert.equal((await stack.balance(account.address)).heldNanoUsd, 0);
  });
});

describe("a provider that says what the simulator does not", () => {
  let provider: StubProvider;
  before(async () => {
    provider = await startStubProvider();
  });
  after(() => provider?.stop());

  test("a reader may pause for a while; one that pauses for longer has left", async () => {
    // More than all buffers between here and there: comments, which cost nothing.
    const comment = `: ${"x".repeat(65_534)}\n\n`;
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "sim-small" };
    const choices = [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }];
    const events = [{ choices }, { choices: [], usage }].map((more) => JSON.stringify({ ...chunk, ...more }));
    async function* body(): AsyncGenerator<string> {
      yield `data: ${events[0]}\n\n`;
      for (let sent = 0; sent < 500; sent += 1) yield comment;
      yield `data: ${events[1]}\n\ndata: [DONE]\n\n`;
    }
    provider.say({ headers: { "content-type": "text/event-stream" }, body });
    await using stack = await startStack({ provider: provider.url, request: limits });
    for (const isServed of [true, false]) {
      const account = await stack.account(USD);
      const partition = accountPartition(account.address);
      const untilSettled = () =>
        eventually(async () => (await stack.rows("receipt", partition)).some(({ state }) => state === "settled"));
      const pause = isServed ? sleep(limits.stalledReaderMs / 20) : untilSettled();
      assert.equal(await readAfter(stack, account, pause), isServed);
      const { detail } = await settledOne(stack, account.address);
      assert.equal(detail.cancelled, !isServed);
    }
  });

  test("a refusal that does not end is told after five seconds, by its status alone", async () => {
    async function* endless(): AsyncGenerator<string> {
      yield '{"error":';
      await new Promise(() => undefined);
    }
    await using stack = await startStack({ provider: provider.url, hurry: 10 });
    const account = await stack.account(USD);
    for (const [status, code] of [
      [429, "upstream_unavailable"],
      [500, "upstream_error"],
    ] as const) {
      provider.say({ status, body: endless });
      const answer = await stack.call("/v1/chat/completions", { key: account.key, body: chat("hi") });
      assert.match(await answer.text(), new RegExp(`"code":"${code}"`));
      assert.equal((await stack.balance(account.address)).heldNanoUsd, 0);
    }
  });
});

/** Opens a stream and reads it after a pause. True if it arrived whole. */
async function readAfter({ url }: Stack, account: TestAccount, pause: Promise<unknown>): Promise<boolean> {
  const sent = request(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: headersOf(account),
    agent: false,
  });
  sent.end(JSON.stringify({ ...chat("hi"), stream: true }));
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    sent.on("response", resolve).on("error", reject),
  );
  await pause;
  let end = "";
  const closed = new Promise((resolve) => answer.on("close", resolve).on("error", () => undefined));
  answer.on("data", (data: Buffer) => {
    end = (end + data.subarray(-100).toString()).slice(-200);
  });
  await closed;
  return answer.complete && end.includes("[DONE]");
}
