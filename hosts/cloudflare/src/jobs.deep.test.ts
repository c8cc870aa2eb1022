import assert from "node:assert/strict";
import { before, test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { startEdge } from "./testing/edge.ts";
import { hold } from "./testing/hold.ts";
import { openHolds } from "./testing/open-holds.ts";

let digest: string;

const address = "0x00000000000000000000000000000000000000ba";
const account = accountPartition(address);
const AMOUNT = 1_000_000;

const edge = hostFor(() => startEdge());
before(async () => {
  ({ digest } = await edge.account(1_000_000_000, { address }));
});

type Left = { leaseMs: number; delivered?: number; upstreamId?: string; snapshot?: string };

/** A request that got this far, and was never heard of again. */
async function leaveHold(id: string, options: Left): Promise<void> {
  const { leaseMs, delivered, upstreamId = null, snapshot = "none" } = options;
  const detail = JSON.stringify({ route: "chat", model: "sim-small", snapshot, stream: true });
  assert.equal(await hold(edge.put, account, { id, digest, amountNanoUsd: AMOUNT, leaseMs, detail }), "reserved");
  if (delivered === undefined) return;
  const checkpoint = { type: "checkpoint", id, deliveredNanoUsd: delivered, upstreamId } as const;
  assert.deepEqual(await edge.put(account, checkpoint), { status: "written" });
}

async function heldAndSettled(partition: string): Promise<[held: number, settled: number]> {
  const type = partition === ceilingPartition ? "ceiling" : "balance";
  const { heldNanoUsd, settledNanoUsd } = await edge.read(partition, { type, at: Date.now() });
  return [heldNanoUsd, settledNanoUsd];
}

/** In the account and at the ceiling. */
async function assertBooks(expected: [held: number, settled: number]): Promise<void> {
  await eventually(async () => {
    assert.deepEqual(await heldAndSettled(account), expected);
    assert.deepEqual(await heldAndSettled(ceilingPartition), expected);
  });
}

test("a hold whose lease lapsed is ended by the next question to its object, by what its checkpoint proves", async () => {
  await leaveHold("req_a1", { leaseMs: 1_000, delivered: 700 });
  await leaveHold("req_a2", { leaseMs: 1_000 });
  assert.deepEqual(await heldAndSettled(account), [2 * AMOUNT, 0]);
  await assertBooks([0, 700]);
  const receipt = await edge.read(account, { type: "receipt", id: "req_a1" });
  assert.equal(receipt?.chargeNanoUsd, 700);
  assert.equal((await edge.read(account, { type: "receipt", id: "req_a2" }))?.state, "released");
});

test("leases that lapsed while the process was dead are seen to after its start", async () => {
  await leaveHold("req_c", { leaseMs: 2_000, delivered: 100 });
  await edge.restart();
  await assertBooks([0, 800]);
});

test("an alarm that was lost is set again by the next question to its object", async () => {
  await leaveHold("req_d", { leaseMs: 3_000, delivered: 50 });
  // It ends before it can answer.
  await assert.rejects(edge.object(account, "loseAlarm"), /ledger's door answered 500/);
  await assertBooks([0, 850]);
});

test("a delivery that fails more often than the runtime tries an alarm is made at last, once", async () => {
  await leaveHold("req_e", { leaseMs: 60_000 });
  await edge.object(ceilingPartition, "refuse", 8 * 2);
  const end = {
    type: "settle",
    id: "req_e",
    at: Date.now(),
    chargeNanoUsd: 30,
    lossNanoUsd: 0,
    detail: "{}",
    snapshot: "00",
  } as const;
  assert.equal((await edge.put(account, end)).status, "settled");
  // Its caller got no reply, and asks again.
  assert.equal((await edge.put(account, end)).status, "settled");
  await assertBooks([0, 880]);
  assert.equal(await edge.object(ceilingPartition, "refusalsLeft"), 0);
});

test("the next commit, or else the alarm, records that a delivery was made: it is not made again", async () => {
  const outboxes = async () => [
    ((await edge.object(account, "rows", account, "outbox")) as unknown[]).length,
    ((await edge.object(account, "storedRows", account, "outbox")) as unknown[]).length,
  ];
  // The deliveries of the test before are under way.
  await eventually(async () => {
    await edge.object(account, "ring");
    assert.deepEqual(await outboxes(), [0, 0]);
  });
  for (const [id, write] of [
    ["req_g", () => leaveHold("req_h", { leaseMs: 60_000 })],
    ["req_h", () => edge.object(account, "ring")],
  ] as const) {
    if (id === "req_g") await leaveHold(id, { leaseMs: 60_000 });
    const end = { type: "release", id, at: Date.now(), lossNanoUsd: 0, detail: "{}" } as const;
    assert.equal((await edge.put(account, end)).status, "released");
    await eventually(async () => assert.deepEqual(await outboxes(), [0, 1]));
    await write();
    await eventually(async () => assert.deepEqual(await outboxes(), [0, 0]));
  }
});

test("an object's own methods cannot be called by others", async () => {
  await assert.rejects(edge.object(account, "deliverSoon"), /ledger's door answered 500/);
  await eventually(async () => assert.match(edge.output(), /does not implement the method "deliverSoon"/));
});

test("ended rows are forgotten, and others stay", async () => {
  const at = Date.now();
  const nonces = [
    { nonce: "longoverlongover", digest: "session", expiresAt: at - 73 * 3_600_000 },
    { nonce: "justoverjustover", digest: "session", expiresAt: at - 3_600_000 },
  ];
  for (const nonce of nonces) {
    assert.deepEqual(await edge.put(account, { type: "consumeNonce", at, ...nonce }), { status: "consumed" });
  }
  await edge.object(account, "ring");
  const byAnother = nonces.map((nonce) => ({ type: "consumeNonce" as const, at, ...nonce, digest: "another" }));
  const [forgotten, young] = [byAnother[0] ?? assert.fail(), byAnother[1] ?? assert.fail()];
  await eventually(async () => assert.deepEqual(await edge.put(account, forgotten), { status: "consumed" }));
  const kept = await edge.put(account, young);
  assert.deepEqual(kept, { status: "nonce_used" });
});

test("a hold whose answer the provider has a record of is settled with it, at the prices it was made at", async () => {
  const response = await fetch(`${edge.simulator.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${edge.simulator.simulator.masterKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim-small", messages: [{ role: "user", content: "[[prompt=40]][[tokens=100]]" }] }),
  });
  const { id: upstreamId } = (await response.json()) as { id: string };
  const status = (await (await fetch(`${edge.url}/api/v1/status`)).json()) as {
    data: { prices: { snapshot: string } };
  };
  const [, before] = await heldAndSettled(account);
  const { snapshot } = status.data.prices;
  await leaveHold("req_f", { leaseMs: 500, delivered: 1, upstreamId, snapshot });
  // 40 tokens at 0.15 and 100 at 0.60 dollars a million.
  await assertBooks([0, before + 66_000]);
});

test("an account that is idle takes three pages: of the schema, of its alarm and of its log", async () => {
  const { key, address: another } = await edge.account(1_000_000_000);
  await (await edge.chat(key, { messages: [{ role: "user", content: "[[tokens=5]]" }] })).text();
  const idle = accountPartition(another);
  await eventually(async () => assert.equal((await openHolds(edge, idle)).length, 0));
  await edge.goTo(edge.now() + 7 * 3_600_000);
  await edge.object(idle, "work");
  assert.equal(await edge.object(idle, "bytes"), 3 * 4_096);
});
