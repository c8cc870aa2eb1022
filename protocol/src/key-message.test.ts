import assert from "node:assert/strict";
import { test } from "node:test";
import { type KeyMessage, keyMessageText, keyResource } from "./key-message.ts";
import { parseSiweMessage } from "./siwe.ts";

const baseUrl = "https://gateway.example";
const message: Omit<KeyMessage, "request"> = {
  ...{ baseUrl, address: "0x1111111111111111111111111111111111111111", chainId: 31_337 },
  ...{ nonce: "abcdefgh12345678", issuedAt: Date.UTC(2030, 0, 31, 12) },
};

test("a wallet shows the terms as a person reads them", () => {
  const terms = {
    name: "my laptop",
    limit: "5.00",
    limit_reset: "daily",
    expires_at: "2030-12-31T00:00:00Z",
  } as const;
  const text = keyMessageText({ ...message, request: { type: "create", terms } });
  assert.equal(
    text,
    `gateway.example wants you to sign in with your Ethereum account:
0x1111111111111111111111111111111111111111

Make an API key with the terms below. It spends the balance of this account. Signing costs no gas.

URI: https://gateway.example
Version: 1
Chain ID: 31337
Nonce: abcdefgh12345678
Issued At: 2030-01-31T12:00:00.000Z
Resources:
- https://gateway.example/api/v1/keys?name=my%20laptop&limit=5.00&limit_reset=daily&expires_at=2030-12-31T00:00:00Z`,
  );
});

test("a term is read back as it was given, whatever characters it has", () => {
  const name = 'Ünï & co? #1 = 100 % + "x" <y> [z] {w} | \\ ^ ` 日本';
  const text = keyMessageText({ ...message, request: { type: "create", terms: { name } } });
  const [resource = ""] = parseSiweMessage(text)?.resources ?? [];
  assert.deepEqual([...new URL(resource).searchParams], [["name", name]]);
});

test("each purpose has its own resource", () => {
  assert.equal(keyResource(baseUrl, { type: "create", terms: {} }), `${baseUrl}/api/v1/keys`);
  assert.equal(keyResource(baseUrl, { type: "roll", keyId: "key_1" }), `${baseUrl}/api/v1/keys/key_1/roll`);
  const terms = { limit: "none", expires_at: undefined };
  assert.equal(
    keyResource(baseUrl, { type: "terms", keyId: "key_1", terms }),
    `${baseUrl}/api/v1/keys/key_1?limit=none`,
  );
  for (const request of [
    { type: "roll", keyId: "key_1" },
    { type: "terms", keyId: "key_1", terms },
  ] as const) {
    assert.equal(parseSiweMessage(keyMessageText({ ...message, request }))?.resources.length, 1);
  }
});
