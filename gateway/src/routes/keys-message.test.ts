import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSiweMessage } from "@inference/protocol/siwe";
import { newKeyAnswer } from "@inference/protocol/wire/key-answers";
import { keyMessageAnswer } from "@inference/protocol/wire/key-message";
import { BASE_URL, makeWallet, NOW, openFixture, PRIMARY, SECONDARY } from "../../test/identity-fixture.ts";

/** GET /api/v1/keys/message: the text to sign for a key. */
const path = "/api/v1/keys/message";

test("signed as it is, the text makes a key of its terms, once", async () => {
  const fixture = openFixture();
  const wallet = makeWallet();
  const query = new URLSearchParams({
    ...{ address: wallet.address.toLowerCase(), chain_id: String(SECONDARY), name: "büro & co", limit: "5.00" },
    ...{ limit_reset: "monthly", expires_at: "2026-12-31T00:00:00+01:00" },
  });
  const { status, text } = await fixture.call("GET", `${path}?${query}`);
  assert.equal(status, 200, text);
  const { data } = keyMessageAnswer.parse(JSON.parse(text));
  const { message } = data;
  assert.deepEqual(
    [data.address, data.chain_id, data.issued_at, data.valid_until],
    [wallet.address, SECONDARY, new Date(NOW).toISOString(), new Date(NOW + 600_000).toISOString()],
  );
  assert.deepEqual(parseSiweMessage(message)?.resources, [data.resource]);
  const body = { message, signature: await wallet.signMessage({ message }) };
  const made = await fixture.call("POST", "/api/v1/keys", { body });
  assert.equal(made.status, 201, made.text);
  const { name, limit, limit_reset: reset, expires_at: expiry } = newKeyAnswer.parse(made.body).data;
  assert.deepEqual([name, limit, reset, expiry], ["büro & co", 5, "monthly", "2026-12-30T23:00:00.000Z"]);
  const again = await fixture.call("POST", "/api/v1/keys", { body });
  assert.equal(again.body.error?.code, "siwe_nonce_used");
});

test("without terms it is for the primary chain and a key without limits, and each text has its own nonce", async () => {
  const fixture = openFixture();
  const read = async () => {
    const { text } = await fixture.call("GET", `${path}?address=${makeWallet().address}`);
    return keyMessageAnswer.parse(JSON.parse(text)).data;
  };
  const [one, other] = [await read(), await read()];
  assert.deepEqual([one.chain_id, one.resource], [PRIMARY, `${BASE_URL}/api/v1/keys`]);
  assert.notEqual(one.nonce, other.nonce);
});

test("what the message would be refused for is refused here, by name", async () => {
  const fixture = openFixture();
  const { address } = makeWallet();
  const refusals: [string, string | null][] = [
    ["", "address"],
    ["address=0x12", "address"],
    [`address=${address}&chain_id=1`, "chain_id"],
    [`address=${address}&limit=much`, "limit"],
    [`address=${address}&limit_reset=daily`, "limit_reset"],
    [`address=${address}&limit=1&limit_reset=weekly`, "limit_reset"],
    [`address=${address}&expires_at=2020-01-01T00:00:00Z`, "expires_at"],
    [`address=${address}&name=%0A`, "name"],
    [`address=${address}&other=1`, "other"],
  ];
  for (const [query, param] of refusals) {
    const { status, body } = await fixture.call("GET", `${path}?${query}`);
    assert.deepEqual([status, body.error?.param], [400, param], query);
  }
});
