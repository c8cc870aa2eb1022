import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { makeCredentials } from "@inference/gateway/identity/credentials";
import type { Command, Reply } from "@inference/ledger/commands";
import { accountPartition, ceilingPartition, journalPartition } from "@inference/ledger/partition";
import type { Query } from "@inference/ledger/reads";
import { utcDay } from "@inference/protocol/window";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { type RunningWorker, startWorker } from "./testing/workerd.ts";

const secret = randomBytes(32);
const address = "0x00000000000000000000000000000000000000aa";
const account = accountPartition(address);
let simulator: Awaited<ReturnType<typeof startProviderSimulator>>;
let worker: RunningWorker;

before(async () => {
  simulator = await startProviderSimulator({ masterKey: "master-key" });
  worker = await startWorker({
    BASE_URL: "http://gateway.test",
    GATEWAY_SECRET: secret.toString("hex"),
    UPSTREAM_BASE_URL: simulator.url,
    UPSTREAM_API_KEY: "master-key",
    PRIMARY_RPC_URL: "http://127.0.0.1:9",
    PRIMARY_CHAIN_ID: "31337",
    SETTLEMENT_ADDRESS: "0x0000000000000000000000000000000000000001",
  });
});

after(async () => {
  await worker?.stop();
  await simulator?.close();
});

test("one request, end to end, with Durable Objects as partitions: its charge is its receipt is the balance's change", async () => {
  const credentials = makeCredentials(secret, { bytes: (length) => randomBytes(length) });
  const { text: key, digest, label } = credentials.issue("ik", address);
  const at = Date.now();
  await put(ceilingPartition, { type: "setCeiling", limitNanoUsd: 50_000_000_000 });
  await put(account, { type: "credit", id: "31337:1", at, amountNanoUsd: 1_000_000_000, detail: "{}" });
  const created = await put(account, {
    type: "createKey",
    at,
    keyId: "key_1",
    digest,
    label,
    name: "smoke",
    window: "lifetime",
    limitNanoUsd: null,
    expiresAt: null,
    nonce: "smoketest",
    nonceExpiresAt: at,
  });
  assert.deepEqual(created, { status: "created" });

  const response = await fetch(`${worker.url}/api/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-small",
      max_tokens: 50,
      messages: [{ role: "user", content: "[[tokens=10]]" }],
    }),
  });
  const answer = (await response.json()) as { usage: { cost_nano_usd: number }; error?: unknown };
  assert.equal(response.status, 200, JSON.stringify(answer));
  const charge = answer.usage.cost_nano_usd;
  assert.ok(charge > 0);

  const id = response.headers.get("x-request-id") ?? "";
  const receipt = (await ask(account, { type: "receipt", id })) as { chargeNanoUsd: number };
  assert.equal(receipt.chargeNanoUsd, charge);
  const balance = await ask(account, { type: "balance", at: Date.now() });
  assert.partialDeepStrictEqual(balance, { settledNanoUsd: charge, heldNanoUsd: 0 });
  await eventually(async () => {
    const ceiling = await ask(ceilingPartition, { type: "ceiling", at: Date.now() });
    assert.partialDeepStrictEqual(ceiling, { settledNanoUsd: charge, heldNanoUsd: 0 });
    const journal = await ask(journalPartition(utcDay(at)), { type: "journal" });
    assert.deepEqual(journal, { settledNanoUsd: charge });
  });
});

test("a stream at the edge is settled at what it used", async () => {
  const credentials = makeCredentials(secret, { bytes: (length) => randomBytes(length) });
  const { text: key, digest, label } = credentials.issue("ik", address);
  const at = Date.now();
  await put(account, {
    type: "createKey",
    at,
    keyId: "key_2",
    digest,
    label,
    name: "stream",
    window: "lifetime",
    limitNanoUsd: null,
    expiresAt: null,
    nonce: "smokestream",
    nonceExpiresAt: at,
  });
  const before = (await ask(account, { type: "balance", at })) as { settledNanoUsd: number };
  const response = await fetch(`${worker.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-small",
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      messages: [{ role: "user", content: "[[tokens=10]]" }],
    }),
  });
  const text = await response.text();
  assert.match(text, /data: \[DONE\]\n\n$/);
  const charge = Number(/"cost_nano_usd":(\d+)/.exec(text)?.[1]);
  await eventually(async () => {
    const balance = await ask(account, { type: "balance", at: Date.now() });
    assert.partialDeepStrictEqual(balance, { settledNanoUsd: before.settledNanoUsd + charge, heldNanoUsd: 0 });
  });
});

async function put(partition: string, command: Command): Promise<Reply> {
  return (await ledger({ partition, command })) as Reply;
}

async function ask(partition: string, query: Query): Promise<unknown> {
  return ledger({ partition, query });
}

async function ledger(body: object): Promise<unknown> {
  const response = await fetch(`${worker.url}/__ledger`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(response.status, 200);
  return response.json();
}

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await check();
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
