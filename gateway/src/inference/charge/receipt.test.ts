import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { hear } from "@inference/ledger/testing/example";
import { isSignedBy, RECEIPT_HEADER, readSignedReceipt } from "@inference/protocol/signed-receipt";
import { BASE_URL, makeWallet, NOW, openFixture } from "../../../test/identity-fixture.ts";
import { makeApp } from "../../app.ts";

/** The receipt of an answer is the one that GET /api/v1/generation has, signed by the key of GET /api/v1/contracts. */
const USD = 1_000_000_000;
const pricesFile = JSON.stringify({
  models: [{ id: "chat", type: "text", usd_per_million_tokens: { input: "1", output: "1" }, context_tokens: 100_000 }],
});
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const message = { role: "assistant", content: "hello" };
const whole = { id: "1", model: "chat", choices: [{ index: 0, message, finish_reason: "stop" }], usage };
const chunk = {
  id: "1",
  model: "chat",
  choices: [{ index: 0, delta: { content: "hello" }, finish_reason: "stop" }],
  usage,
};

async function ask(stream: boolean) {
  const fixture = openFixture({ upstream: { ...openFixture().gateway.config.upstream, pricesFile } });
  await fixture.gateway.prices.refresh();
  fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 50 * USD });
  const wallet = makeWallet();
  fixture.ledger.apply(accountPartition(wallet.address), hear(USD, { at: NOW }));
  const { key } = await fixture.makeKey(wallet);
  fixture.gateway.environment.upstream.send = async () => ({
    status: 200,
    header: (name) =>
      name.toLowerCase() !== "content-type" ? null : stream ? "text/event-stream" : "application/json",
    body: (async function* () {
      yield Buffer.from(stream ? `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` : JSON.stringify(whole));
    })(),
  });
  const options = stream ? { stream, stream_options: { include_usage: true } } : {};
  const response = await makeApp(fixture.gateway).fetch(
    new Request(`${BASE_URL}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "chat", max_tokens: 10, messages: [{ role: "user", content: "hi" }], ...options }),
    }),
  );
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const id = response.headers.get("x-request-id");
  const { body } = await fixture.call("GET", `/api/v1/generation?id=${id}`, { bearer: key });
  return { fixture, wallet, response, text, id, told: body.data?.signed_receipt };
}

test("a whole answer has its receipt in a header that browsers may read", async () => {
  const { fixture, wallet, response, text, id, told } = await ask(false);
  const receipt = response.headers.get(RECEIPT_HEADER) ?? "";
  assert.equal(receipt, told);
  assert.match(response.headers.get("access-control-expose-headers") ?? "", /\bx-receipt\b/);
  assert.doesNotMatch(text, /"receipt"/);
  const publicKey = Buffer.from(fixture.gateway.receiptKey.publicKey.slice(2), "hex");
  assert.equal(await isSignedBy(publicKey, receipt), true);
  const { jti, sub, cost_nano_usd, iat } = readSignedReceipt(receipt) ?? {};
  assert.deepEqual([jti, sub, cost_nano_usd], [id, wallet.address.toLowerCase(), 8_000]);
  assert.equal(iat, Math.floor(NOW / 1_000));
});

test("a stream has its receipt in its usage, with the cost that the same event names", async () => {
  const { response, text, told } = await ask(true);
  assert.equal(response.headers.get(RECEIPT_HEADER), null);
  const receipt = /"receipt":"([^"]+)"/.exec(text)?.[1] ?? "";
  assert.equal(receipt, told);
  assert.match(text, new RegExp(`"cost_nano_usd":${readSignedReceipt(receipt)?.cost_nano_usd}\\b`));
});
