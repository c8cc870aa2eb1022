import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "@inference/gateway/test/assert-error";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendHttp } from "@inference/gateway/test/http-client";
import { accountPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { startStack, type TestAccount } from "./testing/stack.ts";

/** A body that is dear to refuse is no weapon in the hands of who pays nothing. */
const MAX_MS = 10;
const REQUESTS = 20;

const stack = hostFor(startStack);

const numbers = `{"model":"sim-small","messages":[{"role":"user","content":[${Array(30_000).fill("1").join(",")}]}]}`;

/** The time of the gateway's thread for one such body on average, with its client's part. */
async function costOf({ key }: TestAccount, status: number, code: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const post = () => sendHttp(stack.url, { path: "/v1/chat/completions", body: numbers, headers });
  assertError(await post(), status, code);
  const before = process.threadCpuUsage();
  for (let left = REQUESTS; left > 0; left--) await post();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000 / REQUESTS;
}

test("30,000 numbers for a message's content take less than 10 ms of who cannot pay", async () => {
  const cost = await costOf(await stack.account(0), 400, "invalid_request");
  assert.ok(cost < MAX_MS, `${cost} ms a body`);
});

test("30,000 numbers of a revoked key are refused for the key, and take less than 10 ms", async () => {
  const account = await stack.account(0);
  const partition = accountPartition(account.address);
  const [key] = await stack.rows("key", partition);
  assert.ok(key !== undefined);
  await stack.ledger.run(() => send(partition, { type: "revokeKey", at: Date.now(), keyId: key.id }));
  const cost = await costOf(account, 401, "invalid_api_key");
  assert.ok(cost < MAX_MS, `${cost} ms a body`);
});
