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

/** POST /api/v1/keys/{id}/limit: other terms for a key, by its wallet's signature. */
async function setTerms(fixture: Fixture, wallet: Wallet, id: string, query: string): Promise<Answer> {
  return send(fixture, wallet, id, [`${KEY_ENDPOINT}/${id}${query}`]);
}

async function send(fixture: Fixture, wallet: Wallet, id: string, resources: readonly string[]): Promise<Answer> {
  const body = await sign(wallet, { issuedAt: fixture.time.now, resources });
  return fixture.call("POST", `/api/v1/keys/${id}/limit`, { body });
}

/** The limits of a key, by name. */
function limitsOf(data: Answer["body"]["data"]): Record<string, number> {
  const limits = data?.limits as { name: string; limit: number }[];
  return Object.fromEntries(limits.map(({ name, limit }) => [name, limit]));
}

const HOUR = 3_600_000;

describe("a signed message", () => {
  test("raises a key's limit, and what was spent today stays counted", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { key, id } = await fixture.makeKey(wallet, "?limit=5.00&limit_reset=daily");
    const partition = accountPartition(wallet.address);
    const at = fixture.time.now;
    const amount = 9_000_000_000;
    fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 10 * amount });
    fixture.ledger.apply(partition, hear(amount, { at }));
    const digest = fixture.gateway.credentials.verify(key)?.payer.digest ?? "";
    admit(fixture.ledger, partition, reserve("r1", 4_000_000_000, { at, payer: { kind: "key", digest } }));
    fixture.ledger.apply(partition, { ...settle("r1", 3_000_000_000), at });
    const answer = await setTerms(fixture, wallet, id, "?limit=20.00&limit_reset=daily");
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.key, undefined, "its secret is not shown again");
    const { data } = answer.body;
    assert.deepEqual(
      [data?.id, data?.limit_nano_usd, data?.limit_reset, data?.usage_nano_usd, data?.limit_remaining_nano_usd],
      [id, 20_000_000_000, "daily", 3_000_000_000, 17_000_000_000],
    );
    assert.equal((await keyOf(fixture, key)).body.data?.limit_nano_usd, 20_000_000_000, "the secret stays good");
  });

  test("lowers the limit, changes its window, moves or ends the expiry, which stays where it is not named", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet, "?name=laptop&limit=5.00&limit_reset=daily");
    const cases: [string, unknown[]][] = [
      ["?limit=1.00&limit_reset=daily", [1_000_000_000, "daily", null]],
      ["?limit=30&limit_reset=monthly", [30_000_000_000, "monthly", null]],
      ["?limit=30&expires_at=2027-01-01T00:00:00Z", [30_000_000_000, null, "2027-01-01T00:00:00.000Z"]],
      ["?limit=40", [40_000_000_000, null, "2027-01-01T00:00:00.000Z"]],
      ["?limit=none&expires_at=2026-12-01T00:00:00Z", [null, null, "2026-12-01T00:00:00.000Z"]],
      ["?limit=none&expires_at=none", [null, null, null]],
    ];
    for (const [query, expected] of cases) {
      const { body, text } = await setTerms(fixture, wallet, id, query);
      assert.deepEqual([body.data?.limit_nano_usd, body.data?.limit_reset, body.data?.expires_at], expected, text);
      assert.equal(body.data?.name, "laptop");
    }
  });

  test("replaces the limits of the kinds that it names, lifts those that it says, and keeps every other term", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const query = "?limit=5&limit_reset=daily&limit_monthly=50&requests_per_minute=9&models=a,b-*&private=true";
    const { id } = await fixture.makeKey(wallet, query);
    const limits = { limit_daily: 5_000_000_000, limit_monthly: 50_000_000_000, requests_per_minute: 9 };
    const kept = { ...limits, tokens_per_minute: 5_000 };
    const cases: [string, Record<string, number>, string[] | null, boolean][] = [
      ["?tokens_per_minute=5000", kept, ["a", "b-*"], true],
      ["?models=c&private=false", kept, ["c"], false],
      [
        "?limit_monthly=60",
        { limit_monthly: 60_000_000_000, requests_per_minute: 9, tokens_per_minute: 5_000 },
        ["c"],
        false,
      ],
      ["?limit=none&models=none", { requests_per_minute: 9, tokens_per_minute: 5_000 }, null, false],
      ["?requests_per_minute=none&expires_at=none", { tokens_per_minute: 5_000 }, null, false],
    ];
    for (const [query, expected, models, isPrivate] of cases) {
      const { body, text } = await setTerms(fixture, wallet, id, query);
      assert.deepEqual(
        [limitsOf(body.data), body.data?.models, body.data?.private],
        [expected, models, isPrivate],
        text,
      );
    }
  });

  test("of a contract wallet does so too, if the contract accepts it", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet, "?limit=5.00");
    const resources = [`${KEY_ENDPOINT}/${id}?limit=20.00`];
    const signed = await sign(makeWallet(), { issuedAt: fixture.time.now, resources, address: wallet.address });
    const path = `/api/v1/keys/${id}/limit`;
    assertError(await fixture.call("POST", path, { body: signed }), 401, "invalid_signature");
    const asked: unknown[] = [];
    fixture.chain.acceptsSignature = async ({ address }) => asked.push(address) > 0;
    const answer = await fixture.call("POST", path, { body: signed });
    assert.equal(answer.body.data?.limit_nano_usd, 20_000_000_000, answer.text);
    assert.deepEqual(asked, [wallet.address]);
  });

  test("changes terms once, and within ten minutes", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet, "?limit=5.00");
    const path = `/api/v1/keys/${id}/limit`;
    const raise = await sign(wallet, {
      issuedAt: fixture.time.now,
      resources: [`${KEY_ENDPOINT}/${id}?limit=20.00`],
    });
    assert.equal((await fixture.call("POST", path, { body: raise })).status, 200);
    assert.equal((await setTerms(fixture, wallet, id, "?limit=1.00")).status, 200);
    assertError(await fixture.call("POST", path, { body: raise }), 401, "siwe_nonce_used");
    const bearer = await fixture.signIn(wallet);
    const [listed] = (await fixture.call("GET", "/api/v1/keys", { bearer })).body.data ?? [];
    assert.equal(listed?.limit_nano_usd, 1_000_000_000, "the same message again raises nothing");
    const late = await sign(wallet, { issuedAt: fixture.time.now, resources: [`${KEY_ENDPOINT}/${id}?limit=9`] });
    fixture.time.now += 10 * 60_000 + 1;
    assertError(await fixture.call("POST", path, { body: late }), 401, "siwe_expired");
  });
});

describe("a key's terms are not changed", () => {
  test("by another's signature, nor if it is revoked, expired or was never there", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet, "?limit=5.00");
    assertError(await setTerms(fixture, makeWallet(), id, "?limit=9"), 404, "not_found");
    assertError(await setTerms(fixture, wallet, "key_0000000000000000", "?limit=9"), 404, "not_found");
    const soon = new Date(fixture.time.now + HOUR).toISOString();
    const { id: expired } = await fixture.makeKey(wallet, `?expires_at=${soon}`);
    const bearer = await fixture.signIn(wallet);
    await fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer });
    assertError(await setTerms(fixture, wallet, id, "?limit=9"), 404, "not_found");
    fixture.time.now += HOUR;
    assertError(await setTerms(fixture, wallet, expired, "?limit=9"), 401, "key_expired");
  });

  test("by a session, or by a message for another purpose", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { key, id } = await fixture.makeKey(wallet, "?limit=5.00");
    const { id: other } = await fixture.makeKey(wallet);
    const bearer = await fixture.signIn(wallet);
    assertError(await fixture.call("POST", `/api/v1/keys/${id}/limit`, { bearer, body: {} }), 400, "invalid_request");
    const wrong = [
      [],
      [KEY_ENDPOINT],
      [`${KEY_ENDPOINT}?limit=20`],
      [`${KEY_ENDPOINT}/${other}?limit=20`],
      [`${KEY_ENDPOINT}/${id}/roll`],
      [`${KEY_ENDPOINT}/${id}/limit?limit=20`],
      [`${KEY_ENDPOINT}/${id}x?limit=20`],
      [`${KEY_ENDPOINT}/${id}?limit=20#x`],
      [`${KEY_ENDPOINT}/${id}?limit=20`, `${KEY_ENDPOINT}/${id}?limit=20`],
    ];
    for (const resources of wrong) assertError(await send(fixture, wallet, id, resources), 401, "siwe_malformed");
    assert.equal((await keyOf(fixture, key)).body.data?.limit_nano_usd, 5_000_000_000);
  });

  test("to what is no term, and the answer says which", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet, "?limit=5.00");
    const cases = [
      ["?name=desk", "unsupported_parameter", "name"],
      ["?limit=-1", "invalid_request", "limit"],
      ["?limit=1&limit=2", "invalid_request", "limit"],
      ["?limit_reset=daily", "invalid_request", "limit_reset"],
      ["?limit=none&limit_reset=daily", "invalid_request", "limit_reset"],
      ["?limit=1&limit_lifetime=2", "invalid_request", "limit_lifetime"],
      ["?limit_daily=none", "invalid_request", "limit_daily"],
      ["?requests_per_minute=1.5", "invalid_request", "requests_per_minute"],
      ["?models=a,,b", "invalid_request", "models"],
      ["?private=yes", "invalid_request", "private"],
      ["", "invalid_request", "limit"],
      ["?limit=1&expires_at=2020-01-01T00:00:00Z", "invalid_request", "expires_at"],
    ] as const;
    for (const [query, code, param] of cases) {
      const answer = await setTerms(fixture, wallet, id, query);
      assertError(answer, 400, code);
      assert.equal(answer.body.error?.param, param);
    }
  });

  test("and such a message neither signs in nor makes or rolls a key", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const { id } = await fixture.makeKey(wallet);
    const body = await sign(wallet, { resources: [`${KEY_ENDPOINT}/${id}?limit=20`] });
    assertError(await fixture.call("POST", "/auth", { body }), 401, "siwe_malformed");
    assertError(await fixture.call("POST", "/api/v1/keys", { body }), 401, "siwe_malformed");
    assertError(await fixture.call("POST", `/api/v1/keys/${id}/roll`, { body }), 401, "siwe_malformed");
  });
});

test("a session that would raise a limit is told how to", async () => {
  const fixture = openFixture();
  const wallet = makeWallet();
  const { id } = await fixture.makeKey(wallet, "?limit=5.00");
  const bearer = await fixture.signIn(wallet);
  const answer = await fixture.call("PATCH", `/api/v1/keys/${id}`, { bearer, body: { limit: 6 } });
  assertError(answer, 400, "invalid_request");
  assert.ok(answer.body.error?.message.includes(`POST /api/v1/keys/${id}/limit`), answer.text);
});
