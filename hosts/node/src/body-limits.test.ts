import assert from "node:assert/strict";
import { before, test } from "node:test";
import { defaultRequestLimits, limits } from "@inference/gateway/config";
import { assertError } from "@inference/gateway/test/assert-error";
import { wav } from "@inference/gateway/test/audio";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendHttp } from "@inference/gateway/test/http-client";
import { settledOne } from "@inference/gateway/test/settlement/audit";
import { startStubProvider } from "@inference/gateway/test/settlement/stub-provider";
import { startStack, type TestAccount } from "./testing/stack.ts";

/**
 * Each limit of a body's size: what is just as large is taken, and a byte more is not. On Node alone: a Worker takes
 * smaller bodies, and the answer's limit is set.
 */
const USD = 1_000_000_000;
/** The size of a whole answer that is too large for a test. */
const ANSWER_BYTES = 2 * 1024 * 1024;
/** The size of an answer that is gathered before it is sent. */
const GATHERED_BYTES = 512 * 1024;

let account: TestAccount;
const stack = hostFor(() => startStack({ request: { answerBytes: ANSWER_BYTES } }));
before(async () => {
  account = await stack.account(1_000 * USD);
});

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

test("a form is as large as a chat body may be, and no larger", async () => {
  const head = (name: string): string => `--form-0123456789\r\nContent-Disposition: form-data; name="${name}"`;
  const before = Buffer.from(`${head("model")}\r\n\r\nsim-transcribe\r\n${head("file")}; filename="a"\r\n\r\n`);
  const after = Buffer.from("\r\n--form-0123456789--\r\n");
  const headers = {
    authorization: `Bearer ${account.key}`,
    "content-type": "multipart/form-data; boundary=form-0123456789",
  };
  const post = (bytes: number) => {
    const file = Buffer.alloc(bytes - before.length - after.length);
    file.set(wav(10));
    return sendHttp(stack.url, {
      path: "/v1/audio/transcriptions",
      headers,
      body: Buffer.concat([before, file, after]),
    });
  };
  const { chatBodyBytes } = defaultRequestLimits;
  const fits = await post(chatBodyBytes);
  assert.equal(fits.status, 200, fits.text);
  const { metadata } = assertError(await post(chatBodyBytes + 1), 413, "request_too_large");
  assert.equal(metadata?.max_bytes, chatBodyBytes);
});

test("a provider's whole answer passes up to its limit; one that goes on is cut, and costs the hold", async () => {
  const body = { model: "sim-image", prompt: "hello [[fault=image-large]]", return_binary: true };
  const ask = async (bytes: number): Promise<{ status: number; length: number; paid: number }> => {
    stack.simulator.simulator.change({ largeImageBytes: bytes });
    const before = (await stack.balance(account.address)).settledNanoUsd;
    const answer = await stack.call("/v1/image/generate", { key: account.key, body });
    const length = await answer.arrayBuffer().then(
      ({ byteLength }) => byteLength,
      () => -1,
    );
    const paid = (await stack.balance(account.address)).settledNanoUsd - before;
    return { status: answer.status, length, paid };
  };
  const whole = await ask(ANSWER_BYTES);
  assert.deepEqual(whole, { status: 200, length: ANSWER_BYTES, paid: whole.paid });
  assert.ok(whole.paid > 0);
  assert.deepEqual(await ask(ANSWER_BYTES + 1), { status: 200, length: -1, paid: whole.paid });
});

test("an answer that is gathered is cut at the same limit, also if nothing of it is shown", async (context) => {
  const provider = await startStubProvider();
  const limited = await startStack({ provider: provider.url, request: { answerBytes: GATHERED_BYTES } });
  context.after(async () => {
    await limited.stop();
    await provider.stop();
  });
  let sent = 0;
  provider.say({
    async *body() {
      yield '{"hidden":"';
      for (; sent < 16 * GATHERED_BYTES; sent += 64 * 1024) yield "x".repeat(64 * 1024);
      yield '","data":[{"embedding":[1]}],"usage":{"prompt_tokens":1,"total_tokens":1}}';
    },
  });
  const { key, address } = await limited.account(USD);
  const answer = await limited.call("/v1/embeddings", { key, body: { model: "sim-embedding", input: "hello" } });
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  assert.deepEqual([answer.status, error.code], [504, "upstream_timeout"]);
  assert.match(error.message, /^The answer was too large\. The request was aborted\./);
  const { receipt } = await settledOne(limited, address);
  assert.equal(receipt.chargeNanoUsd, receipt.heldNanoUsd);
  assert.ok(sent < 16 * GATHERED_BYTES, "it was read to its end");
});
