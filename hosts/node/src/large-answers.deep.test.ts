import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { limits } from "@inference/gateway/config";
import { hostWithStub } from "@inference/gateway/test/host-for";
import { settledOf } from "@inference/gateway/test/settlement/audit";
import { worstAnswers } from "@inference/gateway/test/worst-answers";
import { eventually } from "@inference/protocol/testing/eventually";
import { startStack, type TestAccount } from "./testing/stack.ts";

/** On Node alone: large answers that clients do not read. */
const USD = 1_000_000_000;
const ACCOUNTS = 4;
const EACH = 3;
/** Each answer has 20 MB. */
const MOST_BYTES = ACCOUNTS * EACH * 1.25 * limits.gatheredAnswerBytes;

const { host: stack, provider } = hostWithStub((options) =>
  startStack({ ...options, request: { stalledReaderMs: 1_000 } }),
);

/** A response that is never read. */
async function askWithoutReading({ key }: TestAccount, path: string, body: object): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const request = httpRequest(new URL(path, stack.url), { method: "POST", headers, agent: false });
  request.on("error", () => undefined);
  request.end(JSON.stringify(body));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => undefined);
  return response;
}

test("large unread answers take little memory, and end when their readers stand still", async () => {
  const [answer] = worstAnswers(20);
  assert.ok(answer !== undefined);
  provider.say({
    async *body() {
      yield* answer.body();
    },
  });
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => stack.account(USD)));
  const responses = await Promise.all(
    accounts.flatMap((account) =>
      Array.from({ length: EACH }, () => askWithoutReading(account, answer.path, answer.request)),
    ),
  );
  assert.ok(responses.every(({ statusCode }) => statusCode === 200));
  await eventually(() => stack.gateway.answerMemory.bytes() > 0);
  const held = stack.gateway.answerMemory.bytes();
  assert.ok(held < MOST_BYTES, `${held} bytes`);
  await eventually(() => stack.gateway.answerMemory.bytes() === 0);
  for (const { address } of accounts) {
    const settled = await settledOf(stack, address);
    assert.equal(settled.length, EACH);
    for (const { receipt } of settled) assert.ok(receipt.chargeNanoUsd > 0, "nobody read it, and it was made");
  }
  for (const response of responses) response.destroy();
});

test("an account whose unread answers take its share is told so, and others are served", async () => {
  const [hostile, other] = [await stack.account(USD), await stack.account(USD)];
  const body = { model: "sim-small", max_tokens: 2, messages: [{ role: "user", content: "x" }] };
  provider.say({ body: JSON.stringify({ choices: [{ message: { content: "hi" } }] }) });
  const held = stack.gateway.answerMemory.open(`account:${hostile.address}`);
  held.set(1024 * 1024 * 1024);
  const refused = await stack.call("/v1/chat/completions", { key: hostile.key, body });
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /Unread answers/);
  assert.equal((await stack.call("/v1/chat/completions", { key: other.key, body })).status, 200);
  held.set(0);
  assert.equal((await stack.call("/v1/chat/completions", { key: hostile.key, body })).status, 200);
});

test("an account with small answers is served while the unread answers of others take all memory", async () => {
  const others = Array.from({ length: 16 }, (_, n) => {
    const held = stack.gateway.answerMemory.open(`account:0x${n.toString(16).repeat(40)}`);
    held.set(stack.gateway.config.answerMemoryBytes / 16);
    return held;
  });
  const { key } = await stack.account(USD);
  const body = { model: "sim-small", max_tokens: 2, messages: [{ role: "user", content: "x" }] };
  let asked = 0;
  let goOn = (): void => undefined;
  const allAsked = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  provider.say({
    async *body() {
      yield '{"choices":[{"message":{"content":"h';
      asked += 1;
      await allAsked;
      yield 'i"}}]}';
    },
  });
  const before = stack.gateway.answerMemory.bytes();
  const answers = [];
  for (let n = 1; n <= 8; n++) {
    answers.push(stack.call("/v1/chat/completions", { key, body }));
    await eventually(() => asked === n && stack.gateway.answerMemory.bytes() > before + 30 * n);
  }
  goOn();
  assert.deepEqual(new Set((await Promise.all(answers)).map(({ status }) => status)), new Set([200]));
  for (const held of others) held.release();
});

test("a small answer is read whole before it is sent also where others have taken all memory", async () => {
  const account = await stack.account(USD);
  const held = stack.gateway.answerMemory.open(`account:0x${"1".repeat(40)}`);
  held.set(1024 * 1024 * 1024);
  const body = { model: "sim-embedding", input: "x" };
  for (const answer of ['{"data":[],"usage":{"prompt_tokens":6}}', '{"data":[']) {
    provider.say({ body: answer });
    assert.equal((await stack.call("/v1/embeddings", { key: account.key, body })).status, 502, answer);
  }
  held.set(0);
  for (const { receipt } of await settledOf(stack, account.address)) assert.equal(receipt.chargeNanoUsd, 0);
});

test("an answer that breaks off is a broken connection to its client, and nothing on the error output", async (context) => {
  const logged = context.mock.method(console, "error", () => undefined);
  const account = await stack.account(USD);
  provider.say({
    async *body() {
      yield `{"data":["${"x".repeat(1_200_000)}`;
      throw new Error("the provider breaks off");
    },
  });
  const body = { model: "sim-embedding", input: "x" };
  const response = await stack.call("/v1/embeddings", { key: account.key, body });
  await assert.rejects(response.text());
  await settledOf(stack, account.address);
  assert.equal(logged.mock.callCount(), 0);
});

test("the largest answer that is gathered for an Idempotency-Key is sent again", async () => {
  const { key } = await stack.account(USD);
  const [head, tail] = ['{"data":[{"embedding":"', '"}],"usage":{"prompt_tokens":6,"total_tokens":6}}'];
  const rest = limits.gatheredAnswerBytes - head.length - tail.length;
  provider.say({ body: `${head}${"x".repeat(rest)}${tail}` });
  for (const replayed of [null, "true"]) {
    const answer = await fetch(new URL("/v1/embeddings", stack.url), {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "largest" },
      body: JSON.stringify({ model: "sim-embedding", input: "x" }),
    });
    assert.deepEqual([answer.status, answer.headers.get("idempotent-replayed")], [200, replayed]);
    assert.ok((await answer.arrayBuffer()).byteLength > limits.gatheredAnswerBytes);
  }
});

test("an answer that is kept for its Idempotency-Key is not sent to an account that leaves its answers unread", async () => {
  const account = await stack.account(USD);
  const headers = { "idempotency-key": "unread" };
  const body = { model: "sim-embedding", input: "x" };
  provider.say({ body: '{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":1,"total_tokens":1}}' });
  const ask = () => stack.call("/v1/embeddings", { key: account.key, body, headers });
  assert.equal((await ask()).status, 200);
  const held = stack.gateway.answerMemory.open(`account:${account.address}`);
  held.set(1024 * 1024 * 1024);
  const refused = await ask();
  assert.deepEqual([refused.status, /"code":"(\w+)"/.exec(await refused.text())?.[1]], [429, "rate_limited"]);
  held.set(0);
  assert.equal((await ask()).headers.get("idempotent-replayed"), "true");
});
