import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { admit, hear, reserve, settle } from "@inference/ledger/testing/example";
import {
  type Answer,
  assertError,
  type Fixture,
  KEY_ENDPOINT,
  keyOf,
  makeWallet,
  openFixture,
  sign,
  type Wallet,
} from "../../test/identity-fixture.ts";

/** POST /api/v1/keys/{id}/roll: another secret for the same key. */
async function roll(
  fixture: Fixture,
  wallet: Wallet,
  id: string,
  resources: readonly string[] = [`${KEY_ENDPOINT}/${id}/roll`],
): Promise<Answer> {
  const body = await sign(wallet, { issuedAt: fixture.time.now, resources });
  return fixture.call("POST", `/api/v1/keys/${id}/roll`, { body });
}

describe("a rolled key", () => {
  test("has another secret, shown this once, and the old one opens nothing", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { key, id, data } = await fixture.makeKey(wallet, "?name=laptop&limit=5.00&limit_reset=daily");
    const answer = await roll(fixture, wallet, id);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const rolled = answer.body.key ?? "";
    assert.match(rolled, /^ik_/);
    assert.deepEqual(answer.body.data, { ...data, label: `${rolled.slice(0, 7)}...${rolled.slice(-4)}` });
    assertError(await keyOf(fixture, key), 401, "invalid_api_key");
    assert.equal((await keyOf(fixture, rolled)).body.data?.id, id);
    assert.ok(!JSON.stringify([fixture.ledger.all("key"), fixture.ledger.all("secret")]).includes(rolled.slice(36)));
  });

  test("keeps what it has spent and holds, and is still one of its account's keys, the only one", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { key, id } = await fixture.makeKey(wallet, "?limit=5.00");
    const partition = accountPartition(wallet.address);
    const at = fixture.time.now;
    fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 9_000 });
    fixture.ledger.apply(partition, hear(9_000, { at }));
    const digest = fixture.gateway.credentials.verify(key)?.payer.digest ?? "";
    admit(fixture.ledger, partition, reserve("r1", 700, { at, payer: { kind: "key", digest } }));
    const rolled = (await roll(fixture, wallet, id)).body.key ?? "";
    fixture.ledger.apply(partition, { ...settle("r1", 500), at });
    assert.equal((await keyOf(fixture, rolled)).body.data?.usage_nano_usd, 500);
    const bearer = await fixture.signIn(wallet);
    const list = await fixture.call("GET", "/api/v1/keys", { bearer });
    assert.deepEqual(
      list.body.data?.map((one) => one.id),
      [id],
    );
  });

  test("stays disabled if it was, and can be rolled again", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet);
    const bearer = await fixture.signIn(wallet);
    await fixture.call("PATCH", `/api/v1/keys/${id}`, { bearer, body: { disabled: true } });
    const [first, second] = [await roll(fixture, wallet, id), await roll(fixture, wallet, id)];
    assertError(await keyOf(fixture, first.body.key ?? ""), 401, "invalid_api_key");
    assertError(await keyOf(fixture, second.body.key ?? ""), 403, "key_disabled");
  });
});

describe("a key is not rolled", () => {
  test("by another's signature, nor if it is revoked or was never there", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { key, id } = await fixture.makeKey(wallet);
    assertError(await roll(fixture, makeWallet(), id), 404, "not_found");
    assertError(await roll(fixture, wallet, "key_0000000000000000"), 404, "not_found");
    assert.equal((await keyOf(fixture, key)).status, 200);
    const bearer = await fixture.signIn(wallet);
    await fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer });
    assertError(await roll(fixture, wallet, id), 404, "not_found");
  });

  test("by a message twice", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet);
    const body = await sign(wallet, { resources: [`${KEY_ENDPOINT}/${id}/roll`] });
    const path = `/api/v1/keys/${id}/roll`;
    const all = await Promise.all(Array.from({ length: 5 }, () => fixture.call("POST", path, { body })));
    const rolled = all.filter(({ status }) => status === 200);
    assert.equal(rolled.length, 1);
    for (const answer of all) if (answer.status !== 200) assertError(answer, 401, "siwe_nonce_used");
    assert.equal((await keyOf(fixture, rolled[0]?.body.key ?? "")).status, 200);
  });

  test("by a session, or by a message for another purpose", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { key, id } = await fixture.makeKey(wallet);
    const { id: other } = await fixture.makeKey(wallet);
    const bearer = await fixture.signIn(wallet);
    assertError(await fixture.call("POST", `/api/v1/keys/${id}/roll`, { bearer, body: {} }), 400, "invalid_request");
    const wrong = [
      [],
      [KEY_ENDPOINT],
      [`${KEY_ENDPOINT}?limit=5`],
      [`${KEY_ENDPOINT}/${other}/roll`],
      [`${KEY_ENDPOINT}/${id}/roll?limit=9`],
      [`${KEY_ENDPOINT}/${id}/roll/`],
      [`${KEY_ENDPOINT}/${id}`],
      [`${KEY_ENDPOINT}/${id}/roll`, `${KEY_ENDPOINT}/${id}/roll`],
    ];
    for (const resources of wrong) assertError(await roll(fixture, wallet, id, resources), 401, "siwe_malformed");
    assert.equal((await keyOf(fixture, key)).status, 200);
  });

  test("and a message that rolls a key neither signs in nor makes another", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet);
    const body = await sign(wallet, { resources: [`${KEY_ENDPOINT}/${id}/roll`] });
    assertError(await fixture.call("POST", "/auth", { body }), 401, "siwe_malformed");
    assertError(await fixture.call("POST", "/api/v1/keys", { body }), 401, "siwe_malformed");
  });
});
