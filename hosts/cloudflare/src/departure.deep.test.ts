import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { accountPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { startEdge } from "./testing/edge.ts";

/**
 * Production ends a Worker 30 s after its client has gone; local workerd does not. So what must be over by then is held
 * against the clock here.
 */
const CUT_MS = 30_000;

const edge = hostFor(() => startEdge());

/** Each takes 45 s, and its client leaves after one. */
const departures: [name: string, address: Address, leave: (key: string) => Promise<void>][] = [
  [
    "a stream",
    "0x00000000000000000000000000000000000000d1",
    async (key) => {
      const content = "[[tokens=450]][[drip=100]]";
      const leave = new AbortController();
      const body = { stream: true, max_tokens: 500, messages: [{ role: "user", content }] };
      const response = await edge.chat(key, body, { signal: leave.signal });
      assert.equal(response.status, 200);
      setTimeout(() => leave.abort(), 1_000);
      await assert.rejects(response.text());
    },
  ],
  [
    "a whole answer",
    "0x00000000000000000000000000000000000000d2",
    async (key) => {
      const body = { max_tokens: 500, messages: [{ role: "user", content: "[[tokens=450]][[delay=45000]]" }] };
      const signal = AbortSignal.timeout(1_000);
      await assert.rejects(edge.chat(key, body, { signal, headers: edge.headersFor(signal) }));
    },
  ],
];

test("an answer of 45 s is given up 25 s after its client left, and is final before its Worker ends", {
  concurrency: true,
}, async (context) => {
  await Promise.all(departures.map(([name, address, leave]) => context.test(name, () => assertFinal(address, leave))));
});

async function assertFinal(address: Address, leave: (key: string) => Promise<void>): Promise<void> {
  const { key } = await edge.account(1_000_000_000, { address });
  await leave(key);
  const leftAt = performance.now();
  const balance = () => edge.read(accountPartition(address), { type: "balance", at: Date.now() });

  await new Promise((resolve) => setTimeout(resolve, 22_000));
  const { heldNanoUsd } = await balance();
  assert.ok(heldNanoUsd > 0, "it is read on: its usage could still come");

  await eventually(async () => {
    const { heldNanoUsd, settledNanoUsd } = await balance();
    assert.equal(heldNanoUsd, 0);
    assert.ok(settledNanoUsd > 0, "what the provider may bill is charged");
  });
  assert.ok(performance.now() - leftAt < 22_000 + CUT_MS, "the platform would have ended it");
}
