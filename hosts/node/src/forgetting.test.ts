import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { forgetAll } from "@inference/gateway/jobs/forget";
import { accountPartition, identityPartition, type Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { tableNames } from "@inference/ledger/schema";
import type { Address } from "@inference/protocol/credential";
import { type Stack, startStack } from "./testing/stack.ts";

/** What anybody can have written down at no cost is gone some day, to the last row. */
const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 10, 21, 12);

let now = NOON;
let stack: Stack;
before(async () => {
  const capacityToday = async () => ({ capacityNanoUsd: 0, at: now });
  stack = await startStack({ now: () => now, chain: { capacityToday } });
});
after(() => stack.stop());

const anybody = (): Address => `0x${randomBytes(20).toString("hex")}`;

/** A key as a signed message would make it. */
async function makeKey(address: Address, expiresAt: number | null = null): Promise<string> {
  const { text, digest, label } = stack.gateway.credentials.issue("ik", address);
  const keyId = `key_${digest.slice(0, 8)}`;
  const terms = { name: "key", window: "day", limitNanoUsd: 1_000_000, expiresAt } as const;
  const nonce = { nonce: digest.slice(0, 16), nonceExpiresAt: now + 600_000 };
  const command = { type: "createKey", at: now, keyId, digest, label, ...terms, ...nonce } as const;
  await stack.ledger.run(() => send(accountPartition(address), command));
  return text;
}

async function forget(): Promise<void> {
  await forgetAll(stack.gateway, new AbortController().signal);
}

async function answer(path: string, key: string): Promise<[number, string | undefined]> {
  const response = await stack.call(path, { key });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code];
}

async function rowsOf(partition: Partition): Promise<unknown[]> {
  return (await Promise.all(tableNames.map((table) => stack.rows(table, partition)))).flat();
}

test("of a wallet that never activated nothing is left after nine days, and its key is none that is known", async () => {
  const [stranger, late] = [anybody(), anybody()];
  const keys = [await makeKey(stranger), await makeKey(stranger), await makeKey(late)];
  now += 9 * DAY_MS;
  await forget();
  for (const key of keys) assert.deepEqual(await answer("/api/v1/key", key), [200, undefined]);
  const credit = { type: "credit", id: "1:1", at: now, amountNanoUsd: 1, detail: "{}" } as const;
  await stack.ledger.run(() => send(accountPartition(late), credit));
  now += 1;
  await forget();
  assert.deepEqual(await rowsOf(accountPartition(stranger)), []);
  const answers = await Promise.all(keys.map((key) => answer("/api/v1/key", key)));
  assert.deepEqual(answers, [
    [401, "invalid_api_key"],
    [401, "invalid_api_key"],
    [200, undefined],
  ]);
});

test("a key that expired says so for two days, and is forgotten then", async () => {
  const { address } = await stack.account(1_000_000);
  const key = await makeKey(address, now + DAY_MS);
  const before = (await rowsOf(accountPartition(address))).length;
  now += 3 * DAY_MS;
  await forget();
  assert.deepEqual(await answer("/api/v1/key", key), [401, "key_expired"]);
  now += 1;
  await forget();
  assert.deepEqual(await answer("/api/v1/key", key), [401, "invalid_api_key"]);
  // The key, its secret and its budget, and both keys' nonces.
  assert.equal((await rowsOf(accountPartition(address))).length, before - 5);
});

test("of an identity that only asked what it has nothing is left", async () => {
  const address = anybody();
  const { text, digest } = stack.gateway.credentials.issue("is", address);
  const session = { digest, address, agentToken: null, at: now, expiresAt: now + DAY_MS };
  const partition = identityPartition(address);
  await stack.ledger.run(() => send(partition, { type: "openSession", ...session }));
  for (const wait of [1, DAY_MS - 2]) {
    now += wait;
    assert.equal((await answer("/api/v1/key", text))[0], 200);
  }
  assert.equal((await stack.rows("budget", partition)).length, 2, "a capacity for each day");
  now += 2 * DAY_MS + 2;
  await forget();
  assert.deepEqual(await rowsOf(partition), []);
});
