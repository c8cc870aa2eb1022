import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { accountPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Trips } from "./testing/distant-worker.ts";
import { startEdge } from "./testing/edge.ts";

/** The calls from the Worker to objects that a request waits for. Each is a trip between two places of the world. */
const edge = hostFor(() => startEdge({}, { entry: new URL("testing/distant-worker.ts", import.meta.url) }));

async function tripsOf(key: string, body: object, headers: Record<string, string> = {}): Promise<Trips> {
  const content = [{ role: "user", content: "[[tokens=5]]" }];
  const response = await edge.chat(key, { messages: content, ...body }, { headers });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (await (await fetch(`${edge.url}/__trips`)).json()) as Trips;
}

async function settled(address: `0x${string}`, requests: number): Promise<void> {
  await eventually(async () => {
    const rows = await edge.rows("receipt", accountPartition(address));
    assert.equal(rows.filter(({ state }) => state === "settled").length, requests);
  });
}

test("a whole answer waits for one trip to objects, and a stream's first content for two", async () => {
  const { key, address } = await edge.account(1_000_000_000);
  // The isolate reads prices and the chain, and the account hears its totals.
  await tripsOf(key, { max_tokens: 5 });
  await settled(address, 1);

  // It is more than the allowance that stayed.
  const asking = await tripsOf(key, { max_tokens: 4_000 });
  assert.deepEqual([asking.content, asking.betweenObjects, asking.sent[0]], [1, 1, "reserve"], JSON.stringify(asking));
  await settled(address, 2);

  const stream = await tripsOf(key, { stream: true });
  assert.deepEqual([stream.content, stream.sent.slice(0, 2)], [2, ["reserve", "checkpoint"]], JSON.stringify(stream));
  await settled(address, 3);

  // Enough of the ceiling is left from the last one.
  const allowed = await tripsOf(key, { max_tokens: 5 });
  assert.deepEqual([allowed.content, allowed.betweenObjects], [1, 0], JSON.stringify(allowed));
});

test("a request with an Idempotency-Key also waits for its claim, and for its settle", async () => {
  const { key } = await edge.account(1_000_000_000);
  const claimed = await tripsOf(key, {}, { "idempotency-key": "once" });
  assert.deepEqual(claimed.sent.slice(-2), ["reserve", "settle"]);
  assert.ok(claimed.content >= 3, JSON.stringify(claimed));
  const repeated = await tripsOf(key, {}, { "idempotency-key": "once" });
  assert.deepEqual([repeated.content, repeated.sent], [1, ["claimed"]]);
});
