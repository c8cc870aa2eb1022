import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, chat, configure, json, lastRecord, MASTER_KEY, start } from "./client.ts";

test("a record has every header, the body and the credential", async () => {
  await using provider = await start();
  await chat(provider, "sim-small", "hi", { user: "u1" }, { headers: { cookie: "a=1", "X-Forwarded-For": "1.2.3.4" } });
  const record = await lastRecord(provider);
  assert.deepEqual([record.authorization, record.equalsMasterKey], [`Bearer ${MASTER_KEY}`, true]);
  assert.ok(record.headers?.includes("cookie") && record.headers.includes("X-Forwarded-For"));
  const body = { model: "sim-small", messages: [{ role: "user", content: "hi" }], user: "u1" };
  assert.deepEqual(JSON.parse(record.body ?? ""), body);
  await chat(provider, "sim-small", "hi", {}, { key: "another" });
  const other = await lastRecord(provider);
  assert.deepEqual([other.authorization, other.equalsMasterKey, other.billedAtto], ["Bearer another", false, null]);
});

test("light records have no headers and no body, off keeps none, and both keep the bill", async () => {
  const kept = { full: 1, light: 1, off: 0 };
  for (const record of ["full", "light", "off"] as const) {
    await using provider = await start({ record });
    await chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]");
    const data = provider.simulator.records.select(() => true, 9);
    assert.equal(data.length, kept[record]);
    if (record === "light") {
      assert.deepEqual([data[0]?.headers, data[0]?.body, data[0]?.billedAtto], [null, null, 20_000_000_000_000n]);
    }
    assert.equal(provider.simulator.ledger.totals.nano, 20_000n);
  }
});

test("a reset forgets records, bill, prices, faults and settings", async () => {
  await using provider = await start({ delayMs: 1 });
  await configure(provider, {
    delayMs: 5,
    faults: { "sim-small": "500" },
    prices: { "sim-small": null },
    listed: { "sim-large": false },
  });
  assert.equal((await chat(provider, "sim-small", "hi")).status, 500);
  assert.equal((await chat(provider, "sim-large", "hi")).status, 404);
  provider.simulator.reset();
  assert.equal(json<{ delayMs: number }>(await ask(`${provider.controlUrl}/config`)).delayMs, 1);
  assert.deepEqual(
    [provider.simulator.ledger.totals.requests, provider.simulator.records.select(() => true, 9)],
    [0, []],
  );
  assert.equal((await chat(provider, "sim-small", "hi")).status, 200);
  assert.equal((await chat(provider, "sim-large", "hi")).status, 200);
});

test("a wrong configuration is refused whole", async () => {
  await using provider = await start();
  const wrong = [
    { delayMs: -1 },
    { abortBilling: "half" },
    { noSuch: 1 },
    { delayMs: 7, faults: { "sim-small": "no-such" } },
    { delayMs: 7, prices: { "no-such": {} } },
    { delayMs: 7, prices: { "sim-small": { input: { usd: -1 } } } },
    { delayMs: 7, listed: { "no-such": true } },
  ];
  for (const body of wrong) {
    assert.equal((await ask(`${provider.controlUrl}/config`, { body })).status, 400, JSON.stringify(body));
  }
  assert.equal(json<{ delayMs: number }>(await ask(`${provider.controlUrl}/config`)).delayMs, 0);
});
