import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defaultRequestLimits, limits } from "@inference/gateway/config";
import { assertError } from "./testing/assert-error.ts";
import { sendHttp } from "./testing/http-client.ts";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** Each limit of a body's size: what is just as large is taken, and a byte more is not. */
const USD = 1_000_000_000;

let stack: Stack;
let account: TestAccount;
before(async () => {
  stack = await startStack();
  account = await stack.account(1_000 * USD);
});
after(() => stack.stop());

const chat = { model: "sim-small", max_tokens: 1, messages: [{ role: "user", content: "hello [[tokens=1]]" }] };
const requests: [path: string, maxBytes: number, body: object, status: number][] = [
  ["/v1/chat/completions", defaultRequestLimits.chatBodyBytes, chat, 200],
  ["/v1/embeddings", defaultRequestLimits.otherBodyBytes, { model: "sim-embedding", input: "hello" }, 200],
  ["/v1/image/generate", defaultRequestLimits.otherBodyBytes, { model: "sim-image", prompt: "hello" }, 200],
  ["/v1/images/generations", defaultRequestLimits.otherBodyBytes, { model: "sim-image", prompt: "hello" }, 200],
  ["/v1/audio/speech", defaultRequestLimits.otherBodyBytes, { model: "sim-speech", input: "hello" }, 200],
  // Read as a body, and refused as one that says nothing.
  ["/auth", limits.authBodyBytes, {}, 400],
  ["/api/v1/keys", limits.authBodyBytes, {}, 400],
];

for (const [path, maxBytes, body, status] of requests) {
  for (const chunked of [false, true]) {
    const name = chunked ? "of a length that is not announced" : "of an announced length";
    test(`${path} takes a body of ${maxBytes} bytes ${name}, and none of a byte more`, async () => {
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
      const post = (bytes: number) =>
        sendHttp(stack.url, { method: "POST", path, headers, chunked, body: JSON.stringify(body).padEnd(bytes) });
      const fits = await post(maxBytes);
      assert.equal(fits.status, status, fits.text.slice(0, 300));
      const { metadata } = assertError(await post(maxBytes + 1), 413, "request_too_large");
      assert.equal(metadata?.max_bytes, maxBytes);
    });
  }
}

test("a provider's whole answer is read to its limit; one of a byte more is no answer, and free", async () => {
  const body = { model: "sim-image", prompt: "hello [[fault=image-large]]", return_binary: true };
  const ask = async (bytes: number): Promise<{ status: number; length: number }> => {
    stack.simulator.simulator.change({ largeImageBytes: bytes });
    const answer = await stack.call("/v1/image/generate", { key: account.key, body });
    return { status: answer.status, length: (await answer.arrayBuffer()).byteLength };
  };
  assert.deepEqual(await ask(limits.answerBytes), { status: 200, length: limits.answerBytes });
  const before = await stack.balance(account.address);
  assert.equal((await ask(limits.answerBytes + 1)).status, 502);
  assert.deepEqual(await stack.balance(account.address), before);
});
