import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hostFor } from "@inference/gateway/test/host-for";
import { accountPartition, ceilingPartition, identityPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import { startEdge } from "./testing/edge.ts";

/**
 * A request whose reservation could not be made holds nothing a few seconds later, whichever of account and ceiling was
 * out of service, and whether or not it had taken the hold.
 */
const edge = hostFor(() => startEdge());

/** The most requests in flight of one account. */
const IN_FLIGHT = 32;
const MOMENT_MS = 700;
const body = { messages: [{ role: "user", content: "[[tokens=5]]" }] };
let wallets = 0;

/** @param isServed Whether it has an allowance for its next requests. The prices are read, and its object is there. */
async function fund({ isServed = true } = {}) {
  wallets += 1;
  const address: Address = `0x${(0xf000 + wallets).toString(16).padStart(40, "0")}`;
  const account = accountPartition(address);
  const { key } = await edge.account(1_000_000_000, { address });
  if (isServed) await assertServed(key);
  const held = async () => (await edge.read(account, { type: "balance", at: Date.now() })).heldNanoUsd;
  return { account, key, held };
}

async function assertServed(key: string): Promise<void> {
  const response = await edge.chat(key, body);
  assert.equal(response.status, 200, await response.text());
}

async function assertUnavailable(key: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await edge.chat(key, body, { headers });
  const { error } = (await response.json()) as { error: { code: string } };
  assert.deepEqual([response.status, error.code], [503, "ledger_unavailable"]);
}

/** Takes an object out of service for a moment. Resolves once it is back. */
async function outForAMoment(partition: string): Promise<{ back: Promise<void> }> {
  await edge.object(partition, "outOfService", true);
  const back = sleep(MOMENT_MS).then(async () => void (await edge.object(partition, "outOfService", false)));
  return { back };
}

test("a moment without the ceiling's object keeps no account out: what was held for it is released at once", async () => {
  await fund();
  const { key, held } = await fund({ isServed: false });
  await edge.object(ceilingPartition, "outOfService", true);
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => assertUnavailable(key)));
  assert.equal(await held(), 0);
  await edge.object(ceilingPartition, "outOfService", false);
  await assertServed(key);
  await eventually(async () => assert.equal(await held(), 0));
});

test("where the ceiling allowed a request and its reply was lost, nothing is held, and the next one is served", async () => {
  const { key, held } = await fund({ isServed: false });
  // The account asks twice, and so does the Worker.
  await edge.object(ceilingPartition, "loseReplies", 4, "allow");
  await assertUnavailable(key);
  assert.equal(await held(), 0);
  await eventually(async () => assert.equal(await held(), 0));
  await assertServed(key);
});

test("an account whose reply was lost releases its hold", async () => {
  const { account, key, held } = await fund();
  // Then the next request is within what the ceiling has allowed.
  await assertServed(key);
  await edge.object(account, "loseReplies", 2, "reserve");
  await assertUnavailable(key);
  assert.equal(await held(), 0);
  await assertServed(key);
  await eventually(async () => assert.equal(await held(), 0));
});

test("where the account's object is away as well, its holds end within seconds of its return", async () => {
  const { account, key, held } = await fund();
  await assertServed(key);
  await edge.object(account, "loseReplies", 2 * IN_FLIGHT, "reserve");
  await edge.object(account, "refuse", 12 * IN_FLIGHT, "release");
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => assertUnavailable(key)));
  assert.ok((await held()) > 0);
  await edge.object(account, "refuse", 0, "release");
  await eventually(async () => assert.equal(await held(), 0));
  await assertServed(key);
});

test("a whole answer whose charge the account's object refuses is sent, and charged once it is taken", async () => {
  const { account, key, held } = await fund();
  await edge.object(account, "refuse", 8, "settle");
  await assertServed(key);
  assert.ok((await held()) > 0, "its hold stands for its charge");
  await eventually(async () => assert.equal(await held(), 0));
  const receipts = await edge.rows("receipt", account);
  assert.deepEqual(
    receipts.map(({ state, lossNanoUsd }) => [state, lossNanoUsd]),
    [
      ["settled", 0],
      ["settled", 0],
    ],
  );
});

test("where the answer is to be kept for a repeated request, it is 503 and free, and its charge is a loss", async () => {
  const { account, key, held } = await fund();
  await edge.object(account, "refuse", 1_000, "settle");
  await assertUnavailable(key, { "idempotency-key": "once" });
  await edge.object(account, "refuse", 0, "settle");
  await eventually(async () => assert.equal(await held(), 0));
  const [receipt] = (await edge.rows("receipt", account)).filter(({ state }) => state === "released");
  assert.equal(receipt?.chargeNanoUsd, 0);
  assert.ok((receipt?.lossNanoUsd ?? 0) > 0);
});

test("a moment without the identity's object does not use a sign-in message up", async () => {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const message = createSiweMessage({
    domain: new URL(edge.url).host,
    address: wallet.address,
    uri: `${edge.url}/auth`,
    version: "1",
    chainId: 31_337,
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
  });
  const signature = await wallet.signMessage({ message });
  await outForAMoment(identityPartition(wallet.address));
  const response = await fetch(`${edge.url}/auth`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message, signature }),
  });
  assert.equal(response.status, 200, await response.text());
});
