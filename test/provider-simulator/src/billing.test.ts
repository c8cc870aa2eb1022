import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, configure, json, lastRecord, NOON, start } from "./client.ts";
import { DEFAULT_MASTER_KEY } from "./simulator.ts";

const golden = "[[prompt=339]] [[cached=128]] [[tokens=227]] [[reasoning=32]]";

test("cached tokens are part of the prompt and priced apart: the golden example is 1460.74 micro-dollars", async () => {
  await using provider = await start();
  const heard = await chat(provider, "sim-cached", golden);
  const { usage, cost } = json<{ usage: unknown; cost: unknown }>(heard);
  assert.deepEqual(usage, {
    prompt_tokens: 339,
    completion_tokens: 227,
    total_tokens: 566,
    prompt_tokens_details: { cached_tokens: 128, cache_creation_input_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 32 },
  });
  assert.deepEqual(cost, { usd: 0.00146074, diem: 0 });
  assert.equal((await lastRecord(provider)).billedAtto, 1_460_740_000_000_000n);
});

test("a fraction of a nano-dollar is rounded up once a request", async () => {
  await using provider = await start();
  await chat(provider, "sim-fine", "[[prompt=3]] [[tokens=1]]");
  await chat(provider, "sim-fine", "[[prompt=3]] [[tokens=1]]");
  const { atto, nano } = provider.simulator.ledger.totals;
  assert.deepEqual([atto, nano], [2n * 1_866_666_680_000n, 2n * 1867n]);
});

test("a remapped answer names the other model and has its price", async () => {
  await using provider = await start();
  const heard = await chat(provider, "fault-remap", "[[prompt=4]] [[tokens=10]]");
  assert.equal(json<{ model: string }>(heard).model, "sim-large");
  assert.equal((await lastRecord(provider)).billedAtto, 110_000_000_000_000n);
});

test("DIEM pays first, USD the rest, and DIEM is whole again on the next UTC day", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, stakedUnits: "0.00001" });
  const heard = await chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]");
  assert.deepEqual(json<{ cost: unknown }>(heard).cost, { usd: 0.00001, diem: 0.00001 });
  assert.equal(provider.simulator.ledger.diem(), 0n);
  time = Date.UTC(2026, 5, 16);
  assert.equal(provider.simulator.ledger.diem(), 10n ** 13n);
});

test("an admin key reads each key's spend of a day by currency, also of an earlier day", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, stakedUnits: "0.00003" });
  const body = { apiKeyType: "INFERENCE", description: "an agent" };
  const created = await ask(`${provider.url}/api_keys`, { key: ADMIN_KEY, body });
  const { id, apiKey } = json<{ data: { id: string; apiKey: string } }>(created).data;
  const spend = (key: string) => chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]", {}, { key });
  await spend(apiKey);
  await spend(DEFAULT_MASTER_KEY);
  const taken = async (query = ""): Promise<unknown> =>
    json<{ data: unknown }>(await ask(`${provider.url}/billing/allowance${query}`, { key: ADMIN_KEY })).data;
  const micro = (count: number) => `${count}000000000000`;
  const agents = { keyId: id, description: "an agent" };
  const master = { keyId: "key-master", description: "master" };
  const yesterdays = [
    { ...agents, allowanceAttoUsd: micro(20), balanceAttoUsd: "0" },
    { ...master, allowanceAttoUsd: micro(10), balanceAttoUsd: micro(10) },
  ];
  assert.deepEqual(await taken(), yesterdays);
  time = Date.UTC(2026, 5, 16);
  assert.deepEqual(await taken(), []);
  // A stake counts at once, and the spend of the day stays.
  await spend(apiKey);
  await configure(provider, { stakedUnits: "0.00004" });
  await spend(apiKey);
  await spend(apiKey);
  assert.deepEqual(await taken(), [{ ...agents, allowanceAttoUsd: micro(40), balanceAttoUsd: micro(20) }]);
  assert.deepEqual(await taken("?day=2026-06-15"), yesterdays);
  assert.equal((await ask(`${provider.url}/billing/allowance`)).status, 401);
  assert.equal((await ask(`${provider.url}/billing/allowance?day=today`, { key: ADMIN_KEY })).status, 400);
});
