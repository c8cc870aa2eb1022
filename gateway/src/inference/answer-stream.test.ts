import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { BASE_URL, makeWallet, NOW, openFixture } from "../../test/identity-fixture.ts";
import { makeApp } from "../app.ts";

const USD = 1_000_000_000;
const price = { input: "0.1", output: "0.1" };
const pricesFile = JSON.stringify({
  models: [{ id: "chat", type: "text", usd_per_million_tokens: price, context_tokens: 100_000 }],
});

test("a stream's first bytes leave before the rest of what the provider has sent is read", async () => {
  const fixture = openFixture({ upstream: { ...openFixture().gateway.config.upstream, pricesFile } });
  await fixture.gateway.prices.refresh();
  fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 50 * USD });
  const wallet = makeWallet();
  const credit = { type: "credit", id: "1:1", at: NOW, amountNanoUsd: USD, detail: "{}" } as const;
  fixture.ledger.apply(accountPartition(wallet.address), credit);
  const { key } = await fixture.makeKey(wallet);

  const data = (value: object) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
  const content = (text: string) => data({ id: "1", model: "chat", choices: [{ index: 0, delta: { content: text } }] });
  let hasLeft = false;
  const hadLeft: boolean[] = [];
  async function* body() {
    yield content("first");
    // All of it is there when the gateway asks for it.
    for (const text of ["second", "third"]) {
      hadLeft.push(hasLeft);
      yield content(text);
    }
    const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
    yield data({ id: "1", model: "chat", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage });
    yield Buffer.from("data: [DONE]\n\n");
  }
  fixture.gateway.environment.upstream.send = async () => ({
    status: 200,
    header: (name) => (name.toLowerCase() === "content-type" ? "text/event-stream" : null),
    body: body(),
  });

  const messages = [{ role: "user", content: "hello" }];
  const response = await makeApp(fixture.gateway).fetch(
    new Request(`${BASE_URL}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "chat", max_tokens: 10, stream: true, messages }),
    }),
  );
  assert.equal(response.status, 200);
  let text = "";
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString();
    // Node writes to a socket in the next tick, which comes when no promise is left to run.
    process.nextTick(() => {
      hasLeft = true;
    });
  }
  assert.match(text, /first.*second.*third.*\[DONE\]/s);
  assert.deepEqual(hadLeft, [true, true]);
});
