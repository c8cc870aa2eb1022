import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, configure, json, lastRecord, NOON, readBill, start } from "./client.ts";
import { DEFAULT_MASTER_KEY } from "./simulator.ts";

const golden = "[[prompt=339]] [[cached=128]] [[tokens=227]] [[reasoning=32]]";

async function billOf(model: string, content: string, more: Record<string, unknown> = {}): Promise<string> {
  await using provider = await start();
  assert.equal((await chat(provider, model, content, more)).status, 200);
  return (await lastRecord(provider)).billed?.attoUsd ?? "none";
}

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
  const { billed } = await lastRecord(provider);
  assert.deepEqual(billed, { attoUsd: "1460740000000000", nanoUsd: "1460740" });
});

test("tokens written to the cache have their own price", async () => {
  // (1000 - 100 - 200) x 1.54 + 100 x 0.29 + 200 x 1.925 + 10 x 4.84 = 1540.4 micro-dollars
  const content = "[[prompt=1000]] [[cached=100]] [[cache-write=200]] [[tokens=10]]";
  assert.equal(await billOf("sim-cached", content), "1540400000000000");
});

test("past the threshold the extended rates price the whole request, at it they do not", async () => {
  assert.equal(await billOf("sim-extended-low", "[[prompt=1000]] [[tokens=10]]"), "1040000000000000");
  assert.equal(await billOf("sim-extended-low", "[[prompt=1001]] [[tokens=10]]"), "3093000000000000");
});

test("float noise is not billed, and the finest price is billed exactly", async () => {
  assert.equal(await billOf("sim-noisy", "[[prompt=100000]] [[tokens=1]]"), "920115000000000");
  assert.equal(
    await billOf("sim-fine", "[[prompt=3]] [[tokens=1]]"),
    String(3n * 266_666_670_000n + 1_066_666_670_000n),
  );
});

test("a fraction of a nano-dollar is rounded up once a request", async () => {
  await using provider = await start();
  await chat(provider, "sim-fine", "[[prompt=3]] [[tokens=1]]");
  await chat(provider, "sim-fine", "[[prompt=3]] [[tokens=1]]");
  const bill = await readBill(provider);
  assert.equal(bill.attoUsd, String(2n * 1_866_666_680_000n));
  assert.equal(bill.nanoUsd, String(2 * 1867));
});

test("a price of zero bills zero, a row without a price is billed all the same", async () => {
  assert.equal(await billOf("sim-free", "[[prompt=100]] [[tokens=10]]"), "0");
  assert.equal(await billOf("sim-unpriced", "[[prompt=100]] [[tokens=10]]"), "120000000000000");
});

test("an answer without output is not billed", async () => {
  assert.equal(await billOf("sim-large", "[[prompt=100]] [[tokens=0]]"), "0");
});

test("every choice is billed", async () => {
  assert.equal(await billOf("sim-large", "[[prompt=4]] [[tokens=10]]", { n: 3 }), "310000000000000");
});

test("a remapped answer names the other model and has its price", async () => {
  await using provider = await start();
  const heard = await chat(provider, "fault-remap", "[[prompt=4]] [[tokens=10]]");
  assert.equal(json<{ model: string }>(heard).model, "sim-large");
  assert.equal((await lastRecord(provider)).billed?.attoUsd, "110000000000000");
});

test("a changed price counts from the next request on, in the catalogue and in the bill", async () => {
  await using provider = await start();
  const billed = async (): Promise<string | undefined> => {
    await chat(provider, "sim-small", "[[prompt=1000]] [[tokens=1000]]");
    return (await lastRecord(provider)).billed?.attoUsd;
  };
  assert.equal(await billed(), "750000000000000");
  await configure(provider, { prices: { "sim-small": { input: { usd: 0.3 }, output: { usd: 1.2, diem: 1.2 } } } });
  assert.equal(await billed(), "1500000000000000");
  const listing = await ask(`${provider.url}/models`, { key: null });
  assert.match(listing.text, /"id":"sim-small".{0,400}"pricing":\{"input":\{"usd":0.3,"diem":0.3\}/);
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
