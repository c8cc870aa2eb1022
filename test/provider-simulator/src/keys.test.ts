import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, type Heard, json, NOON, post, start } from "./client.ts";
import type { ProviderSimulator } from "./server.ts";

const admin = { key: ADMIN_KEY };

interface Created {
  readonly data: { readonly id: string; readonly apiKey: string };
}

async function create(provider: ProviderSimulator, more: Record<string, unknown> = {}): Promise<Created["data"]> {
  const body = { apiKeyType: "INFERENCE", description: "test", ...more };
  const heard = await post(provider, "/api_keys", body, admin);
  assert.equal(heard.status, 200, heard.text);
  return json<Created>(heard).data;
}

/** Costs 20 micro-dollars. */
function spend(provider: ProviderSimulator, key: string): Promise<Heard> {
  return chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]", {}, { key });
}

test("a created key works, shows its secret once, and dies when deleted", async () => {
  await using provider = await start();
  const { id, apiKey } = await create(provider, { consumptionLimit: { usd: 50, diem: null } });
  assert.equal((await spend(provider, apiKey)).status, 200);
  const listed = await ask(`${provider.url}/api_keys`, admin);
  assert.ok(!listed.text.includes(apiKey));
  const row = json<{ data: Record<string, unknown>[] }>(listed).data.find((key) => key.id === id);
  assert.equal(row?.last6Chars, apiKey.slice(-6));
  assert.deepEqual(row?.consumptionLimits, { usd: 50, diem: null, vcu: null });
  assert.deepEqual(row?.currentPeriodUsage, { usd: "0.0000", diem: "0.0000" });
  assert.equal((await ask(`${provider.url}/api_keys/${id}`, admin)).status, 200);
  assert.deepEqual(json(await ask(`${provider.url}/api_keys?id=${id}`, { ...admin, method: "DELETE" })), {
    success: true,
  });
  assert.equal((await spend(provider, apiKey)).status, 401);
  assert.equal((await ask(`${provider.url}/api_keys/${id}`, admin)).status, 404);
});

test("keys are the same after a reset", async () => {
  await using provider = await start();
  const first = await create(provider);
  provider.simulator.reset();
  assert.deepEqual(await create(provider), first);
});

test("a spent limit refuses until its period ends: a UTC day, a UTC month, or never", async () => {
  const later = { EPOCH: Date.UTC(2026, 5, 16), MONTH: Date.UTC(2026, 6, 1), LIFETIME: null };
  for (const limitPeriod of ["EPOCH", "MONTH", "LIFETIME"] as const) {
    let time = NOON;
    await using provider = await start({ clock: () => time });
    const { apiKey } = await create(provider, { consumptionLimit: { usd: 0.00003 }, limitPeriod });
    assert.equal((await spend(provider, apiKey)).status, 200);
    assert.equal((await spend(provider, apiKey)).status, 200);
    const refused = await spend(provider, apiKey);
    assert.equal(refused.status, 402);
    assert.match(refused.text, /API key USD spend limit exceeded/);
    const reset = later[limitPeriod];
    time = (reset ?? Date.UTC(2030, 0, 1)) - 1;
    assert.equal((await spend(provider, apiKey)).status, 402);
    time += 1;
    assert.equal((await spend(provider, apiKey)).status, reset === null ? 402 : 200, limitPeriod);
  }
});

test("a patch raises the limit and a past expiry ends the key", async () => {
  await using provider = await start();
  const { id, apiKey } = await create(provider, { consumptionLimit: { usd: 0.00001 } });
  await spend(provider, apiKey);
  assert.equal((await spend(provider, apiKey)).status, 402);
  const patched = await ask(`${provider.url}/api_keys`, {
    ...admin,
    method: "PATCH",
    body: { id, consumptionLimit: { usd: 1 } },
  });
  assert.equal(patched.status, 200);
  assert.equal((await spend(provider, apiKey)).status, 200);
  await ask(`${provider.url}/api_keys`, { ...admin, method: "PATCH", body: { id, expiresAt: "2026-06-15" } });
  assert.equal((await spend(provider, apiKey)).status, 401);
});

test("bad terms are refused, and so is the twenty-first key within a minute", async () => {
  await using provider = await start();
  const base = { apiKeyType: "INFERENCE", description: "x" };
  for (const more of [
    { apiKeyType: "ROOT" },
    { description: "x".repeat(65) },
    { limitPeriod: "WEEK" },
    { consumptionLimit: { usd: -1 } },
    { expiresAt: "soon" },
    { extra: 1 },
  ]) {
    assert.equal((await post(provider, "/api_keys", { ...base, ...more }, admin)).status, 400, JSON.stringify(more));
  }
  for (let i = 0; i < 20; i++) await create(provider);
  assert.equal((await post(provider, "/api_keys", base, admin)).status, 429);
});

test("admin routes take an admin key only, rate limits take any, clamped to the key's limit", async () => {
  await using provider = await start({ balanceUsd: "100" });
  for (const path of ["/api_keys", "/billing/balance", "/billing/usage-history"]) {
    const heard = await ask(provider.url + path);
    assert.equal(heard.status, 401, path);
    assert.deepEqual(json(heard), { error: "Admin API key required" });
  }
  const { apiKey } = await create(provider, { consumptionLimit: { usd: 5 } });
  await spend(provider, apiKey);
  const heard = await ask(`${provider.url}/api_keys/rate_limits`, { key: apiKey });
  const { data } = json<{ data: Record<string, unknown> }>(heard);
  assert.equal(data.accessPermitted, true);
  assert.deepEqual(data.balances, { USD: 4.99998, DIEM: 0 });
  assert.equal(data.nextEpochBegins, "2026-06-16T00:00:00.000Z");
});
