import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, type Heard, json, NOON, post, start } from "./client.ts";
import type { ProviderSimulator } from "./server.ts";

const admin = { key: ADMIN_KEY };
const terms = { apiKeyType: "INFERENCE", description: "test" };

async function create(provider: ProviderSimulator, more: object = {}): Promise<{ id: string; apiKey: string }> {
  const heard = await post(provider, "/api_keys", { ...terms, ...more }, admin);
  assert.equal(heard.status, 200, heard.text);
  return json<{ data: { id: string; apiKey: string } }>(heard).data;
}

/** Costs 20 micro-dollars. */
function spend(provider: ProviderSimulator, key: string): Promise<Heard> {
  return chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]", {}, { key });
}

test("keys are the same after a reset", async () => {
  await using provider = await start();
  const first = await create(provider);
  provider.simulator.reset();
  assert.deepEqual(await create(provider), first);
});

test("a spent limit refuses until the next UTC day or until a patch raises it, and a key expires", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time });
  const expiresAt = "2026-06-17T00:00:00.000Z";
  const { id, apiKey } = await create(provider, {
    consumptionLimit: { usd: 0.00003 },
    limitPeriod: "EPOCH",
    expiresAt,
  });
  const statuses = async (): Promise<number[]> => [
    (await spend(provider, apiKey)).status,
    (await spend(provider, apiKey)).status,
  ];
  assert.deepEqual(await statuses(), [200, 200]);
  const refused = await spend(provider, apiKey);
  assert.deepEqual([refused.status, refused.text.includes("API key USD spend limit exceeded")], [402, true]);
  time = Date.UTC(2026, 5, 16) - 1;
  assert.equal((await spend(provider, apiKey)).status, 402);
  time += 1;
  assert.deepEqual(await statuses(), [200, 200]);
  assert.equal((await spend(provider, apiKey)).status, 402);
  const body = { id, consumptionLimit: { usd: 1 }, limitPeriod: "EPOCH" };
  assert.equal((await ask(`${provider.url}/api_keys`, { ...admin, method: "PATCH", body })).status, 200);
  assert.equal((await spend(provider, apiKey)).status, 200);
  time = Date.parse(expiresAt);
  assert.equal((await spend(provider, apiKey)).status, 401);
});

test("bad terms are refused, and so is the twenty-first key within a minute", async () => {
  await using provider = await start();
  const wrong = [
    { apiKeyType: "ROOT" },
    { description: "x".repeat(65) },
    { limitPeriod: "WEEK" },
    { consumptionLimit: { usd: -1 } },
    { expiresAt: "soon" },
    { extra: 1 },
  ];
  for (const more of wrong) {
    assert.equal((await post(provider, "/api_keys", { ...terms, ...more }, admin)).status, 400, JSON.stringify(more));
  }
  for (let i = 0; i < 20; i++) await create(provider);
  assert.equal((await post(provider, "/api_keys", terms, admin)).status, 429);
});

test("admin routes take an admin key only", async () => {
  await using provider = await start();
  for (const path of ["/billing/allowance", "/billing/usage-history"]) {
    const heard = await ask(provider.url + path);
    assert.deepEqual([heard.status, json(heard)], [401, { error: "Admin API key required" }], path);
  }
  assert.equal((await post(provider, "/api_keys", terms)).status, 401);
});
