import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type EmptyChain, startEmptyChain } from "@inference/gateway/test/chaos/empty-chain";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS } from "@inference/protocol/window";
import { type Edge, startEdge } from "./testing/edge.ts";
import { hold } from "./testing/hold.ts";

/**
 * An object with a timer that is pending does not hibernate, and is billed for that time. So none is left once the work
 * is over that it was set for.
 */
let edge: Edge;
let chain: EmptyChain;
before(async () => {
  // The watcher asks a node that does not answer again and again, with timers between.
  chain = await startEmptyChain(1_000_000_000_000);
  edge = await startEdge(
    { PRIMARY_RPC_URL: chain.rpcUrl },
    { entry: new URL("testing/timed-worker.ts", import.meta.url) },
  );
});
after(async () => {
  await edge?.stop();
  chain?.close();
});

async function assertNoneLeft(): Promise<void> {
  const pending = async () => (await fetch(`${edge.url}/__timers`)).json();
  await eventually(async () => assert.deepEqual(await pending(), []));
}

test("no timer is left once an alarm has forgotten what is over", async () => {
  const account = accountPartition("0x00000000000000000000000000000000000000f7");
  await edge.account(1_000_000_000, { address: "0x00000000000000000000000000000000000000f7" });
  const over = { id: "overoverover", expiresAt: Date.now() - 5 * DAY_MS, digest: null };
  await edge.object(account, "write", account, [{ table: "nonce", id: over.id, row: over }]);
  await edge.object(account, "ring");
  await eventually(async () => {
    const nonces = (await edge.object(account, "rows", account, "nonce")) as { id: string }[];
    assert.ok(!nonces.some(({ id }) => id === over.id));
  });
  await assertNoneLeft();
});

test("no timer is left once a request has been answered, whole or in a stream, or could not be reserved", async () => {
  const { key } = await edge.account(1_000_000_000, { address: "0x00000000000000000000000000000000000000f8" });
  /** Without an allowance of the ceiling. */
  const newcomer = await edge.account(1_000_000_000, { address: "0x00000000000000000000000000000000000000f6" });
  for (const stream of [false, true]) {
    const response = await edge.chat(key, { stream, messages: [{ role: "user", content: "[[tokens=5]]" }] });
    assert.equal(response.status, 200, await response.text());
    await assertNoneLeft();
  }
  await edge.object(ceilingPartition, "outOfService", true);
  const response = await edge.chat(newcomer.key, { messages: [{ role: "user", content: "[[tokens=5]]" }] });
  await edge.object(ceilingPartition, "outOfService", false);
  assert.equal(response.status, 503, await response.text());
  await assertNoneLeft();
});

test("no timer is left once a lapsed hold was settled by the provider's record", async () => {
  const { address, digest } = await edge.account(1_000_000_000, {
    address: "0x00000000000000000000000000000000000000f9",
  });
  const { simulator } = edge;
  const asked = await fetch(`${simulator.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${simulator.simulator.masterKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim-small", messages: [{ role: "user", content: "[[prompt=40]][[tokens=100]]" }] }),
  });
  const { id: upstreamId } = (await asked.json()) as { id: string };
  const status = await fetch(`${edge.url}/api/v1/status`);
  const { snapshot } = ((await status.json()) as { data: { prices: { snapshot: string } } }).data.prices;
  const account = accountPartition(address);
  const id = "req_lapsed";
  const detail = JSON.stringify({ route: "chat", model: "sim-small", snapshot, stream: true });
  await hold(edge.put, account, { id, digest, amountNanoUsd: 1_000_000, leaseMs: 500, detail });
  await edge.put(account, { type: "checkpoint", id, deliveredNanoUsd: 1, upstreamId });
  await eventually(async () => {
    const receipt = await edge.read(account, { type: "receipt", id });
    assert.equal(receipt?.chargeNanoUsd, 66_000);
  });
  await assertNoneLeft();
});
