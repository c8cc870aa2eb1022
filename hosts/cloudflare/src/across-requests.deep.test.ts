import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hostFor } from "@inference/gateway/test/host-for";
import { accountPartition } from "@inference/ledger/partition";
import { startEdge } from "./testing/edge.ts";

/**
 * A Worker ties what is asked of the network, and timers, to the request that asked. A request must not wait for the
 * pending work of a request that is over.
 */
const WAIT_MS = 2_500;
const edge = hostFor(() => startEdge({ UPSTREAM_MODEL_REQUESTS: "1", UPSTREAM_MODEL_WAIT_MS: String(WAIT_MS) }));

test("where the provider takes one request at a time they take turns, each woken by the one before", async () => {
  const address = "0x00000000000000000000000000000000000000e2";
  const { key } = await edge.account(1_000_000_000, { address });
  const startedAt = performance.now();
  const responses = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      edge.chat(key, { stream: index % 2 === 0, messages: [{ role: "user", content: "[[tokens=5]][[delay=200]]" }] }),
    ),
  );
  for (const response of responses) assert.equal(response.status, 200, await response.text());
  assert.ok(performance.now() - startedAt >= 6 * 200, "they did not run at once");
  const { heldNanoUsd } = await edge.read(accountPartition(address), { type: "balance", at: Date.now() });
  assert.equal(heldNanoUsd, 0);
});

test("the timer of a request that was woken by another one's end does no harm to the next of its account", async () => {
  const address = "0x00000000000000000000000000000000000000e3";
  const { key } = await edge.account(1_000_000_000, { address });
  const ask = async (atMs: number): Promise<string> => {
    await sleep(atMs);
    const messages = [{ role: "user", content: "[[tokens=5]][[delay=1500]]" }];
    const response = await edge.chat(key, { stream: true, messages });
    const text = await response.text();
    return response.status === 200 ? "served" : text;
  };
  // The second waits until 1.5 s, and its time to wait would be over at 2.5 s; the third waits from 1.7 s until 3 s.
  assert.deepEqual(await Promise.all([ask(0), ask(50), ask(1_700)]), ["served", "served", "served"]);
});
