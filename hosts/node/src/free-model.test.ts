import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ceilingPartition, identityPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { type Stack, startStack } from "./testing/stack.ts";

/** Zero is a price: what can cost nothing at most is served to who has nothing, and leaves a receipt like the rest. */
const FREE = "sim-small";
const IDENTITY: Address = "0x00000000000000000000000000000000000000f1";

let stack: Stack;
before(async () => {
  stack = await startStack({ ceilingNanoUsd: 0 });
  const { prices } = stack.gateway;
  const snapshot = prices.current();
  const models = new Map(snapshot.models);
  const model = models.get(FREE);
  assert.ok(model !== undefined);
  models.set(FREE, { ...model, price: { kind: "text", rates: { input: 0n, output: 0n } } });
  stack.gateway.prices = { ...prices, current: () => ({ ...snapshot, models }) };
});
after(() => stack.stop());

const chat = (more: object = {}) => ({
  model: FREE,
  messages: [{ role: "user", content: "hello [[tokens=5]]" }],
  max_tokens: 20,
  ...more,
});

async function openSession(): Promise<string> {
  const { text, digest } = stack.gateway.credentials.issue("is", IDENTITY);
  const at = Date.now();
  const session = { digest, address: IDENTITY, agentToken: null, at, expiresAt: at + 60_000 };
  await stack.ledger.run(() => send(identityPartition(IDENTITY), { type: "openSession", ...session }));
  return text;
}

test("a model that costs nothing is served without a balance, a limit's rest or a ceiling", async () => {
  const { key, address } = await stack.account(0, { window: "day", limitNanoUsd: 0 });
  const whole = await stack.call("/v1/chat/completions", { key, body: chat() });
  const text = await whole.text();
  assert.equal(whole.status, 200, text);
  assert.match(text, /"cost":0,"cost_nano_usd":0/);
  const streamed = await stack.call("/v1/chat/completions", { key, body: chat({ stream: true }) });
  assert.match(await streamed.text(), /data: \[DONE\]/);
  const id = whole.headers.get("x-request-id");
  const receipt = await (await stack.call(`/api/v1/generation?id=${id}`, { key })).json();
  const { outcome, basis, charge_nano_usd, tokens_completion } = (receipt as { data: Record<string, unknown> }).data;
  assert.deepEqual([outcome, basis, charge_nano_usd, tokens_completion], ["settled", "usage", 0, 5]);
  assert.deepEqual((await stack.balance(address)).settledNanoUsd, 0);
  const ceiling = await stack.ledger.read(ceilingPartition, { type: "ceiling", at: Date.now() });
  assert.deepEqual([ceiling.settledNanoUsd, ceiling.heldNanoUsd], [0, 0]);
});

test("and to a session without a capacity", async () => {
  const key = await openSession();
  assert.equal((await stack.call("/v1/chat/completions", { key, body: chat() })).status, 200);
});

test("the next model costs something, and is refused", async () => {
  const { key } = await stack.account(0);
  for (const payer of [key, await openSession()]) {
    const answer = await stack.call("/v1/chat/completions", { key: payer, body: chat({ model: "sim-large" }) });
    assert.equal(answer.status, 402);
  }
});
