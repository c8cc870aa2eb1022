import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { startX402Relay, x402Chat, x402Payment } from "@inference/gateway/test/x402";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { startEdge } from "./testing/edge.ts";

test("at the edge a payment serves the request that it came with, once, and nobody else's", async () => {
  const relay = await startX402Relay();
  const edge = await startEdge(
    { RELAY_URL: relay.url, RELAY_SECRET: relay.secret },
    { ceilingNanoUsd: 1_000_000_000_000 },
  );
  relay.put = edge.put;
  const url = `${edge.url}/api/v1/chat/completions`;
  const account = privateKeyToAccount(generatePrivateKey());
  try {
    const bare = await fetch(url, x402Chat());
    deepEqual([bare.status, bare.headers.get("payment-required") === null], [402, false], await bare.clone().text());
    const { authorization, headers, forged } = await x402Payment(account);
    const send = (init: RequestInit, given: object = headers) => fetch(url, { ...init, headers: { ...given } });
    const paid = await send(x402Chat());
    equal(paid.status, 200, await paid.clone().text());
    ok(paid.headers.get("payment-response") !== null);
    const text = await paid.text();
    const spent = await edge.balance(account.address);
    equal(spent.settledNanoUsd + spent.availableNanoUsd, Number(authorization.value) * 1_000);
    equal(await (await send(x402Chat())).text(), text, "the kept answer");
    equal((await send(x402Chat("a thief's"))).status, 422);
    equal((await send(x402Chat("a thief's"), forged)).status, 401);
    deepEqual(await edge.balance(account.address), spent);
  } finally {
    await edge.stop();
    await relay.stop();
  }
});
