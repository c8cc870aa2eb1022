import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import { startEdge } from "./testing/edge.ts";

const edge = hostFor(() => startEdge({}, { keyValue: new URL("testing/stale-key-value.ts", import.meta.url) }));

const wallet = privateKeyToAccount(generatePrivateKey());

async function sign(resource?: string): Promise<{ message: string; signature: string }> {
  const message = createSiweMessage({
    domain: new URL(edge.url).host,
    address: wallet.address,
    uri: resource === undefined ? `${edge.url}/auth` : edge.url,
    version: "1",
    chainId: 31_337,
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
    ...(resource === undefined ? {} : { resources: [`${edge.url}${resource}`] }),
  });
  return { message, signature: await wallet.signMessage({ message }) };
}

async function call(method: string, path: string, token?: string, body?: object) {
  const response = await fetch(`${edge.url}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer = text === "" ? {} : (JSON.parse(text) as { error?: { code: string } });
  return { status: response.status, code: answer.error?.code, answer: answer as object };
}

test("with a stale KV, a used nonce is used, and a revoked key and a revoked session are revoked, at once", async () => {
  const signed = await sign();
  const { answer, status } = await call("POST", "/auth", undefined, signed);
  assert.equal(status, 200, JSON.stringify(answer));
  const { token } = answer as unknown as { token: string };
  assert.equal((await call("POST", "/auth", undefined, signed)).code, "siwe_nonce_used");

  const made = await call("POST", "/api/v1/keys", undefined, await sign("/api/v1/keys?name=stale"));
  const { key, data } = made.answer as unknown as { key: string; data: { id: string } };
  assert.equal((await call("GET", "/api/v1/key", key)).status, 200, JSON.stringify(made.answer));
  assert.equal((await call("DELETE", `/api/v1/keys/${data.id}`, token)).status, 200);
  assert.equal((await call("GET", "/api/v1/key", key)).code, "invalid_api_key");

  assert.equal((await call("GET", "/api/v1/keys", token)).status, 200);
  assert.equal((await call("DELETE", "/auth", token)).status, 204);
  assert.equal((await call("GET", "/api/v1/keys", token)).code, "invalid_session");
});
