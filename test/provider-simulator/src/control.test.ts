import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, chat, configure, json, lastRecord, MASTER_KEY, readBill, type ShownRecord, start } from "./client.ts";

test("a record shows every header, the body, and whose credential came", async () => {
  await using provider = await start();
  await chat(provider, "sim-small", "hi", { user: "u1" }, { headers: { cookie: "a=1", "X-Forwarded-For": "1.2.3.4" } });
  const record = await lastRecord(provider);
  assert.deepEqual(record.authorization, { raw: `Bearer ${MASTER_KEY}`, equalsMasterKey: true });
  const names = record.headers?.map(([name]) => name) ?? [];
  assert.ok(names.includes("cookie") && names.includes("X-Forwarded-For"));
  assert.deepEqual(record.body, { model: "sim-small", messages: [{ role: "user", content: "hi" }], user: "u1" });
  await chat(provider, "sim-small", "hi", {}, { key: "another" });
  const other = await lastRecord(provider);
  assert.deepEqual(other.authorization, { raw: "Bearer another", equalsMasterKey: false });
  assert.equal(other.billed, null);
});

test("records are found by number, by the answer's id, by filter, and from a number on", async () => {
  await using provider = await start();
  const first = json<{ id: string }>(await chat(provider, "sim-small", "hi"));
  await chat(provider, "sim-large", "hi");
  await chat(provider, "sim-small", "hi");
  const read = async (path: string): Promise<ShownRecord> => json(await ask(provider.controlUrl + path));
  assert.equal((await read(`/requests/${first.id}`)).id, 0);
  assert.equal((await read("/requests/1")).model, "sim-large");
  const list = async (query: string): Promise<number[]> =>
    json<{ data: ShownRecord[] }>(await ask(`${provider.controlUrl}/requests${query}`)).data.map((record) => record.id);
  assert.deepEqual(await list(""), [0, 1, 2]);
  assert.deepEqual(await list("?model=sim-small"), [0, 2]);
  assert.deepEqual(await list("?since=1&limit=1"), [2]);
  assert.equal((await ask(`${provider.controlUrl}/requests/99`)).status, 404);
});

test("light records have no headers and no body, off keeps none, and the bill is kept in each", async () => {
  for (const [record, kept] of [
    ["full", 1],
    ["light", 1],
    ["off", 0],
  ] as const) {
    await using provider = await start({ record });
    await chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]");
    const { data } = json<{ data: ShownRecord[] }>(await ask(`${provider.controlUrl}/requests`));
    assert.equal(data.length, kept);
    if (record === "light")
      assert.deepEqual([data[0]?.headers, data[0]?.body, data[0]?.billed?.nanoUsd], [null, null, "20000"]);
    assert.equal((await readBill(provider)).nanoUsd, "20000");
  }
});

test("the bill sums what the records say, by model", async () => {
  await using provider = await start();
  for (const model of ["sim-small", "sim-large", "sim-fine", "sim-small", "fault-500"])
    await chat(provider, model, "hello");
  const bill = await readBill(provider);
  const { data } = json<{ data: ShownRecord[] }>(await ask(`${provider.controlUrl}/requests`));
  const sum = data.reduce((total, record) => total + BigInt(record.billed?.attoUsd ?? "0"), 0n);
  assert.equal(bill.attoUsd, String(sum));
  assert.deepEqual([bill.requests, bill.finished, bill.byModel["sim-small"]?.requests], [4, 5, 2]);
});

test("a reset forgets records, bill, prices, faults and settings", async () => {
  await using provider = await start({ delayMs: 1 });
  await configure(provider, {
    delayMs: 5,
    faults: { "sim-small": "500" },
    prices: { "sim-small": null },
    listed: { "sim-large": false },
  });
  await chat(provider, "sim-small", "hi");
  assert.equal((await ask(`${provider.controlUrl}/reset`, { method: "POST" })).status, 200);
  const settings = json<{ delayMs: number; faults: object }>(await ask(`${provider.controlUrl}/config`));
  assert.deepEqual([settings.delayMs, settings.faults], [1, {}]);
  assert.equal((await readBill(provider)).finished, 0);
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
    { delayMs: 7, offline: { "sim-small": "yes" } },
  ];
  for (const body of wrong) {
    assert.equal((await ask(`${provider.controlUrl}/config`, { body })).status, 400, JSON.stringify(body));
  }
  assert.equal(json<{ delayMs: number }>(await ask(`${provider.controlUrl}/config`)).delayMs, 0);
});

test("the clock can be moved", async () => {
  await using provider = await start();
  const created = async (): Promise<number> =>
    json<{ created: number }>(await chat(provider, "sim-small", "hi")).created;
  const before = await created();
  await configure(provider, { clockOffsetMs: 3_600_000 });
  assert.equal((await created()) - before, 3600);
});
