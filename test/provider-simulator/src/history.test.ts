import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, type Heard, json, lastRecord, NOON, post, readBill, start } from "./client.ts";
import type { ProviderSimulator } from "./server.ts";

interface Row {
  readonly timestamp: string;
  readonly sku: string;
  readonly units: number;
  readonly pricePerUnitUsd: number;
  readonly amount: number;
  readonly currency: string;
  readonly inferenceDetails: { readonly requestId: string; readonly promptTokens: number | null };
}

function read(provider: ProviderSimulator, query = "", headers: Record<string, string> = {}): Promise<Heard> {
  return ask(`${provider.url}/billing/usage-history${query}`, { key: ADMIN_KEY, headers });
}

function page(heard: Heard): { data: Row[]; nextCursor: string | null } {
  assert.equal(heard.status, 200, heard.text);
  return json(heard);
}

test("a request is several rows under the id of its answer, also when its stream was cut", async () => {
  await using provider = await start();
  const heard = await chat(provider, "sim-cached", "[[prompt=339]] [[cached=128]] [[tokens=227]]");
  const { data } = page(await read(provider));
  assert.deepEqual(
    data.map(({ sku, units, pricePerUnitUsd, amount }) => [sku, units, pricePerUnitUsd, amount]),
    [
      ["sim-cached-llm-input-mtoken", 0.000211, 1.54, -0.00032494],
      ["sim-cached-llm-cache-input-mtoken", 0.000128, 0.29, -0.00003712],
      ["sim-cached-llm-output-mtoken", 0.000227, 4.84, -0.00109868],
    ],
  );
  const { id } = json<{ id: string }>(heard);
  assert.ok(
    data.every((row) => row.inferenceDetails.requestId === id && row.timestamp === new Date(NOON).toISOString()),
  );
  const cut = await chat(provider, "sim-small", "[[fault=cut-mid-stream]]", { stream: true });
  const cutId = /chatcmpl-[0-9a-f]+/.exec(cut.text)?.[0];
  assert.equal(page(await read(provider)).data.at(-1)?.inferenceDetails.requestId, cutId);
});

test("pages follow each other through their cursors and sum to the bill", async () => {
  await using provider = await start();
  for (let i = 0; i < 30; i++) await chat(provider, "sim-large", `[[prompt=${100 + i}]] [[tokens=${i + 1}]]`);
  await post(provider, "/image/generate", { model: "sim-image", prompt: "x" });
  await post(provider, "/audio/speech", { model: "sim-speech", input: "hello" });
  await post(provider, "/embeddings", { model: "sim-embedding", input: "hello" });
  const rows: Row[] = [];
  let query = "?pageSize=10";
  for (let pages = 0; pages < 20; pages++) {
    const { data, nextCursor } = page(await read(provider, query));
    rows.push(...data);
    if (nextCursor === null) break;
    query = `?cursor=${nextCursor}`;
  }
  assert.equal(rows.length, 63);
  const nano = rows.reduce((sum, row) => sum - row.amount * 1e9, 0);
  assert.ok(Math.abs(nano - Number((await readBill(provider)).attoUsd) / 1e9) < 1);
});

test("rows can be chosen by time and currency, and read as CSV", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, stakedUnits: "0.00001" });
  await chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]");
  time += 60_000;
  await chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]");
  const later = encodeURIComponent(new Date(NOON + 1).toISOString());
  assert.equal(page(await read(provider, `?startTimestamp=${later}`)).data.length, 2);
  assert.equal(page(await read(provider, `?endTimestamp=${later}&currency=DIEM`)).data.length, 1);
  assert.equal(page(await read(provider, "?currency=USD")).data.length, 3);
  const csv = await read(provider, "?pageSize=10", { accept: "text/csv" });
  assert.equal(csv.text.trim().split("\n").length, 1 + 4);
});

test("rows appear after the delay of the setting", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, historyDelayMs: 5000 });
  await chat(provider, "sim-small", "hi");
  assert.equal(page(await read(provider)).data.length, 0);
  time += 5000;
  assert.equal(page(await read(provider)).data.length, 2);
});

test("a bad query is refused, and the old report is gone", async () => {
  await using provider = await start();
  for (const query of [
    "?pageSize=5",
    "?currency=EUR",
    "?startTimestamp=soon",
    "?cursor=%21%21",
    "?cursor=abc&pageSize=10",
  ]) {
    assert.equal((await read(provider, query)).status, 400, query);
  }
  const gone = await ask(`${provider.url}/billing/usage`, { key: ADMIN_KEY });
  assert.equal(gone.status, 410);
  assert.ok(
    gone.headers.deprecation !== undefined && gone.headers.sunset !== undefined && gone.headers.link !== undefined,
  );
  assert.equal((await lastRecord(provider)).status, 410);
});
