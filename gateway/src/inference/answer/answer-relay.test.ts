import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { hear } from "@inference/ledger/testing/example";
import { BASE_URL, makeWallet, NOW, openFixture } from "../../../test/identity-fixture.ts";
import { makeApp } from "../../app.ts";

const USD = 1_000_000_000;
const price = { input: "0.1", output: "0.1" };
const pricesFile = JSON.stringify({
  models: [{ id: "chat", type: "text", usd_per_million_tokens: price, context_tokens: 100_000 }],
});

const data = (value: object) => Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
const content = (text: string) => data({ id: "1", model: "chat", choices: [{ index: 0, delta: { content: text } }] });
const usageOf = (completion_tokens: number) => ({
  prompt_tokens: 5,
  completion_tokens,
  total_tokens: 5 + completion_tokens,
});
const last = data({
  ...{ id: "1", model: "chat", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  usage: usageOf(3),
});
const DONE = Buffer.from("data: [DONE]\n\n");

/** Asks for a stream that the provider sends in these chunks. */
async function ask(body: AsyncIterable<Uint8Array>) {
  const fixture = openFixture({ upstream: { ...openFixture().gateway.config.upstream, pricesFile } });
  const { environment } = fixture.gateway;
  await fixture.gateway.prices.refresh();
  fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 50 * USD });
  const wallet = makeWallet();
  const account = accountPartition(wallet.address);
  fixture.ledger.apply(account, hear(USD, { at: NOW }));
  const { key } = await fixture.makeKey(wallet);
  const alerts: unknown[] = [];
  environment.log = (level, _event, fields) => {
    if (level === "alert") alerts.push(fields?.alert);
  };
  environment.upstream.send = async () => ({
    status: 200,
    header: (name) => (name.toLowerCase() === "content-type" ? "text/event-stream" : null),
    body,
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
  return { response, alerts };
}

test("a stream's first bytes leave before the rest of what the provider has sent is read", async () => {
  let hasLeft = false;
  const hadLeft: boolean[] = [];
  async function* body() {
    yield content("first");
    // All of it is there when the gateway asks for it.
    for (const text of ["second", "third"]) {
      hadLeft.push(hasLeft);
      yield content(text);
    }
    yield last;
    yield DONE;
  }
  const { response } = await ask(body());
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

test("a usage that comes after the settled answer is an alert, and a stream without one raises none", async () => {
  const late = data({ id: "1", model: "chat", choices: [], usage: usageOf(9) });
  for (const after of [[], [content("more"), late]]) {
    let isRead = (): void => undefined;
    const whole = new Promise<void>((resolve) => {
      isRead = resolve;
    });
    async function* body() {
      yield* [content("first"), last, DONE, ...after];
      isRead();
    }
    const { response, alerts } = await ask(body());
    await response.text();
    await whole;
    await new Promise(setImmediate);
    assert.deepEqual(alerts, after.length === 0 ? [] : ["the provider reported a usage after the end of the answer"]);
  }
});
