import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_KEY, ask, chat, json, NOON, start } from "./client.ts";
import type { ProviderSimulator } from "./server.ts";

interface Row {
  readonly timestamp: string;
  readonly sku: string;
  readonly units: number;
  readonly pricePerUnitUsd: number;
  readonly amount: number;
  readonly inferenceDetails: { readonly requestId: string; readonly promptTokens: number | null };
}

async function read(provider: ProviderSimulator, query = ""): Promise<{ data: Row[]; nextCursor: string | null }> {
  const heard = await ask(`${provider.url}/billing/usage-history${query}`, { key: ADMIN_KEY });
  assert.equal(heard.status, 200, heard.text);
  return json(heard);
}

test("a request has several rows under the id of its answer, also when its stream was cut", async () => {
  await using provider = await start();
  const heard = await chat(provider, "sim-cached", "[[prompt=339]] [[cached=128]] [[tokens=227]]");
  const { data } = await read(provider);
  assert.deepEqual(
    data.map(({ sku, units, pricePerUnitUsd, amount }) => [sku, units, pricePerUnitUsd, amount]),
    [
      ["sim-cached-llm-input-mtoken", 0.000211, 1.54, -0.00032494],
      ["sim-cached-llm-cache-input-mtoken", 0.000128, 0.29, -0.00003712],
      ["sim-cached-llm-output-mtoken", 0.000227, 4.84, -0.00109868],
    ],
  );
  const { id } = json<{ id: string }>(heard);
  const timestamp = new Date(NOON).toISOString();
  assert.ok(data.every((row) => row.inferenceDetails.requestId === id && row.timestamp === timestamp));
  const cut = await chat(provider, "sim-small", "[[fault=cut-mid-stream]]", { stream: true });
  const cutId = /chatcmpl-[0-9a-f]+/.exec(cut.text)?.[0];
  assert.equal((await read(provider)).data.at(-1)?.inferenceDetails.requestId, cutId);
});

test("a page ends after its size, begins at a time, and says whether there is another", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time });
  for (let i = 0; i < 7; i++) {
    await chat(provider, "sim-large", "[[prompt=4]] [[tokens=1]]");
    time += 60_000;
  }
  const first = await read(provider, "?pageSize=10");
  assert.deepEqual([first.data.length, first.nextCursor !== null], [10, true]);
  const second = await read(provider, `?cursor=${first.nextCursor}`);
  assert.deepEqual([second.data.length, second.nextCursor], [4, null]);
  const until = encodeURIComponent(new Date(NOON + 60_000).toISOString());
  assert.equal((await read(provider, `?endTimestamp=${until}`)).data.length, 2, "the end is not in it");
  const later = encodeURIComponent(new Date(NOON + 60_001).toISOString());
  const rest = await read(provider, `?pageSize=10&startTimestamp=${later}`);
  assert.deepEqual([rest.data.length, rest.nextCursor], [10, null]);
  for (const query of ["?pageSize=5", "?startTimestamp=soon", `?pageSize=10&cursor=${first.nextCursor}`, "?cursor=x"]) {
    const heard = await ask(`${provider.url}/billing/usage-history${query}`, { key: ADMIN_KEY });
    assert.equal(heard.status, 400, query);
  }
});

test("rows appear after the delay of the setting", async () => {
  let time = NOON;
  await using provider = await start({ clock: () => time, historyDelayMs: 5000 });
  await chat(provider, "sim-small", "hi");
  assert.equal((await read(provider)).data.length, 0);
  time += 5000;
  assert.equal((await read(provider)).data.length, 2);
});
