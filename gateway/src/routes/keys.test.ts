import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type Answer,
  BASE_URL,
  type Fixture,
  KEY_ENDPOINT,
  makeWallet,
  NOW,
  openFixture,
  sign,
} from "../../test/identity-fixture.ts";

const DAY = 86_400_000;

async function postWithResources(fixture: Fixture, resources: readonly string[]): Promise<Answer> {
  return fixture.call("POST", "/api/v1/keys", { body: await sign(makeWallet(), { resources }) });
}

function assertError(answer: Answer, status: number, code: string, param: string | null = null): void {
  const { error } = answer.body;
  assert.deepEqual([answer.status, error?.code, error?.param], [status, code, param], answer.text);
}

function limitOf(name: string, limit: number, resetsAt: string | null): object {
  const unit = name.startsWith("limit") ? "nano_usd" : name.split("_")[0];
  return { name, unit, limit, used: 0, reserved: 0, remaining: limit, resets_at: resetsAt };
}

describe("a key is made on the terms of its message", () => {
  test("with several limits, models and privacy, which GET /api/v1/key shows", async () => {
    const fixture = openFixture();
    const query =
      "?limit_daily=5&limit=20&requests_per_minute=60&tokens_per_minute=100000&models=gpt-4o,llama-*&private=true";
    const { key, data } = await fixture.makeKey(makeWallet(), query);
    const own = (await fixture.call("GET", "/api/v1/key", { bearer: key })).body.data;
    for (const shown of [data, own]) {
      assert.deepEqual(
        [shown?.limit, shown?.limit_reset, shown?.models, shown?.private],
        [...[20, null], ...[["gpt-4o", "llama-*"], true]],
      );
      assert.deepEqual(shown?.limits, [
        limitOf("limit_lifetime", 20_000_000_000, null),
        limitOf("limit_daily", 5_000_000_000, "2026-11-22T00:00:00.000Z"),
        limitOf("requests_per_minute", 60, "2026-11-21T12:01:00.000Z"),
        limitOf("tokens_per_minute", 100_000, "2026-11-21T12:01:00.000Z"),
      ]);
    }
    const budgets = own?.budgets as { name: string; window: string }[];
    const named = budgets.map(({ name, window }) => `${name} ${window}`);
    assert.deepEqual(named, ["balance lifetime", "key lifetime", "key day", "ceiling day"]);
  });

  test("exactly these, and its text is shown this once", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const query = "?name=my%20laptop&limit=5.00&limit_reset=daily&expires_at=2026-12-31T00:00:00Z";
    const signed = await sign(wallet, { resources: [`${KEY_ENDPOINT}${query}`] });
    const { status, body, text, headers } = await fixture.call("POST", "/api/v1/keys", { body: signed });
    assert.equal(status, 201);
    assert.equal(headers.get("cache-control"), "no-store");
    const key = body.key ?? "";
    assert.match(key, /^ik_/);
    assert.match(String(body.data?.id), /^key_[0-9a-hjkmnp-tv-z]{16}$/);
    assert.deepEqual(body.data, {
      id: body.data?.id,
      name: "my laptop",
      label: `${key.slice(0, 7)}...${key.slice(-4)}`,
      disabled: false,
      limit: 5,
      limit_nano_usd: 5_000_000_000,
      limit_remaining: 5,
      limit_remaining_nano_usd: 5_000_000_000,
      limit_reset: "daily",
      resets_at: "2026-11-22T00:00:00.000Z",
      usage: 0,
      usage_nano_usd: 0,
      reserved: 0,
      reserved_nano_usd: 0,
      created_at: "2026-11-21T12:00:00.000Z",
      expires_at: "2026-12-31T00:00:00.000Z",
      limits: [limitOf("limit_daily", 5_000_000_000, "2026-11-22T00:00:00.000Z")],
      models: null,
      private: false,
    });
    assert.equal(text.split(key).length, 2);
    const bearer = await fixture.signIn(wallet);
    const list = await fixture.call("GET", "/api/v1/keys", { bearer });
    assert.deepEqual(list.body.data, [body.data]);
    assert.ok(!JSON.stringify(fixture.ledger.all("key")).includes(key.slice(36)));
  });

  test("without terms: no limit, no expiry", async () => {
    const { data } = await openFixture().makeKey(makeWallet());
    const { name, limit, limit_remaining, limit_reset, resets_at, expires_at } = data;
    assert.deepEqual(
      { name, limit, limit_remaining, limit_reset, resets_at, expires_at },
      { name: "API key", limit: null, limit_remaining: null, limit_reset: null, resets_at: null, expires_at: null },
    );
  });

  const limits = [
    ["?limit=0.000000001", 1, null, null],
    ["?limit=9000000", 9_000_000_000_000_000, null, null],
    ["?limit=0", 0, null, null],
    ["?limit=1.50&limit_reset=monthly", 1_500_000_000, "monthly", "2026-12-01T00:00:00.000Z"],
  ] as const;
  for (const [query, nano, reset, resetsAt] of limits) {
    test(`the limit of ${query} is ${nano} nano-dollars`, async () => {
      const { data } = await openFixture().makeKey(makeWallet(), query);
      assert.deepEqual([data.limit_nano_usd, data.limit_reset, data.resets_at], [nano, reset, resetsAt]);
    });
  }

  test("money is printed with the integer's digits, where a float has none of them", async () => {
    const fixture = openFixture();
    const body = await sign(makeWallet(), { resources: [`${KEY_ENDPOINT}?limit=8999999.999999999`] });
    const { text } = await fixture.call("POST", "/api/v1/keys", { body });
    assert.match(text, /"limit":8999999\.999999999,"limit_nano_usd":8999999999999999,/);
  });

  test("a contract wallet makes a key too", async () => {
    const fixture = openFixture();
    const { message } = await sign(makeWallet(), { resources: [KEY_ENDPOINT] });
    fixture.chain.acceptsSignature = async () => true;
    const answer = await fixture.call("POST", "/api/v1/keys", { body: { message, signature: "0x" } });
    assert.equal(answer.status, 201);
  });
});

describe("terms that cannot be are refused", () => {
  const refused = [
    ["?limit=-1", "limit"],
    ["?limit=1e3", "limit"],
    ["?limit=", "limit"],
    ["?limit=0.0000000001", "limit"],
    ["?limit=9000000.000000001", "limit"],
    ["?limit=5&limit=500", "limit"],
    ["?limit_reset=daily", "limit_reset"],
    ["?limit=5&limit_reset=weekly", "limit_reset"],
    ["?limit=5&limit_reset=lifetime", "limit_reset"],
    ["?limit=5&limit_lifetime=6", "limit_lifetime"],
    ["?limit=5&limit_reset=daily&limit_daily=6", "limit_daily"],
    ["?limit_daily=-1", "limit_daily"],
    ["?requests_per_minute=-1", "requests_per_minute"],
    ["?requests_per_minute=1000000001", "requests_per_minute"],
    ["?tokens_per_minute=1e3", "tokens_per_minute"],
    ["?models=", "models"],
    ["?models=*", "models"],
    ["?models=a,b*c", "models"],
    [`?models=${Array.from({ length: 33 }, (_, n) => `m${n}`)}`, "models"],
    ["?private=1", "private"],
    ["?expires_at=2026-11-21T12:00:00Z", "expires_at"],
    ["?expires_at=2027-01-01", "expires_at"],
    ["?expires_at=2027-02-30T00:00:00Z", "expires_at"],
    ["?expires_at=2027-01-01T00:00:00+01:00", "expires_at"],
    ["?expires_at=1800000000", "expires_at"],
    ["?name=", "name"],
    ["?name=%20%20", "name"],
    ["?name=a%0Ab", "name"],
    ["?name=a%E2%80%AEb", "name"],
    [`?name=${"a".repeat(65)}`, "name"],
  ] as const;
  for (const [query, param] of refused) {
    test(`${query}: 400 that names ${param}, and no nonce is used`, async () => {
      const fixture = openFixture();
      const answer = await postWithResources(fixture, [`${KEY_ENDPOINT}${query}`]);
      assertError(answer, 400, "invalid_request", param);
      assert.deepEqual(fixture.ledger.all("nonce"), []);
    });
  }

  test("a term that there is none of is 400", async () => {
    const answer = await postWithResources(openFixture(), [`${KEY_ENDPOINT}?limitt=5`]);
    assertError(answer, 400, "unsupported_parameter", "limitt");
  });
});

describe("a message makes a key only if it asks for exactly that", () => {
  const refused = [
    ["no resource", []],
    ["another resource", [`${BASE_URL}/api/v1/models`]],
    ["the endpoint twice", [KEY_ENDPOINT, KEY_ENDPOINT]],
    ["another resource beside it", [`${KEY_ENDPOINT}?limit=5`, "urn:a"]],
    ["one key's address", [`${KEY_ENDPOINT}/key_a`]],
    ["a longer path", [`${KEY_ENDPOINT}s?limit=5`]],
    ["a fragment", [`${KEY_ENDPOINT}?limit=5#limit=500`]],
    ["another host's endpoint", ["https://evil.example/api/v1/keys?limit=5"]],
    ["the endpoint inside another", [`https://evil.example/${KEY_ENDPOINT}`]],
  ] as const;
  for (const [what, resources] of refused) {
    test(`one with ${what} is siwe_malformed`, async () => {
      assertError(await postWithResources(openFixture(), resources), 401, "siwe_malformed");
    });
  }

  test("it is used once: of 50 at a time, one makes a key", async () => {
    const fixture = openFixture();
    const body = await sign(makeWallet(), { resources: [KEY_ENDPOINT] });
    const answers = await Promise.all(Array.from({ length: 50 }, () => fixture.call("POST", "/api/v1/keys", { body })));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter((answer) => answer.body.error?.code === "siwe_nonce_used").length, 49);
    assert.equal(fixture.ledger.all("key").length, 1);
  });

  test("a nonce that signed in makes no key", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    await fixture.call("POST", "/auth", { body: await sign(wallet, { nonce: "abcdefgh" }) });
    const body = await sign(wallet, { nonce: "abcdefgh", resources: [KEY_ENDPOINT] });
    assertError(await fixture.call("POST", "/api/v1/keys", { body }), 401, "siwe_nonce_used");
  });

  test("another's signature makes none", async () => {
    const fixture = openFixture();
    const { message } = await sign(makeWallet(), { resources: [KEY_ENDPOINT] });
    const body = { message, signature: await makeWallet().signMessage({ message }) };
    assertError(await fixture.call("POST", "/api/v1/keys", { body }), 401, "invalid_signature");
  });

  test("a session is no signature", async () => {
    const fixture = openFixture();
    const bearer = await fixture.signIn(makeWallet());
    assertError(await fixture.call("POST", "/api/v1/keys", { bearer, body: {} }), 400, "invalid_request", "message");
  });
});

describe("a session manages its wallet's keys", () => {
  async function open(query = "") {
    const fixture = openFixture();
    const wallet = makeWallet();
    const made = await fixture.makeKey(wallet, query);
    const bearer = await fixture.signIn(wallet);
    const patch = (body: unknown) => fixture.call("PATCH", `/api/v1/keys/${made.id}`, { bearer, body });
    return { fixture, wallet, bearer, patch, ...made };
  }

  test("renames, disables and enables: the key feels it at once", async () => {
    const { fixture, patch, key } = await open();
    assert.equal((await patch({ name: "desktop" })).body.data?.name, "desktop");
    assert.equal((await patch({ disabled: true })).body.data?.disabled, true);
    assertError(await fixture.call("GET", "/api/v1/key", { bearer: key }), 403, "key_disabled");
    await patch({ disabled: false });
    assert.equal((await fixture.call("GET", "/api/v1/key", { bearer: key })).body.data?.name, "desktop");
  });

  test("lowers a limit and never raises one", async () => {
    const { patch } = await open("?limit=5&limit_reset=daily");
    const lowered = await patch({ limit: "2.5" });
    assert.deepEqual([lowered.body.data?.limit_nano_usd, lowered.body.data?.limit_reset], [2_500_000_000, "daily"]);
    assertError(await patch({ limit: 2.500000001 }), 400, "invalid_request", "limit");
    assertError(await patch({ limit: 5 }), 400, "invalid_request", "limit");
    assert.match((await patch({ limit: 5 })).body.error?.message ?? "", /POST \/api\/v1\/keys/);
    assert.equal((await patch({ limit: 0 })).body.data?.limit_nano_usd, 0);
  });

  test("gives a limit to a key that had none, and not back", async () => {
    const { patch } = await open();
    assert.equal((await patch({ limit: 1 })).body.data?.limit_nano_usd, 1_000_000_000);
    assertError(await patch({ limit: null }), 400, "invalid_request", "limit");
  });

  test("tightens every other term, and loosens none", async () => {
    const { patch } = await open("?limit=5&limit_reset=daily&tokens_per_minute=100&models=gpt-*,llama-3");
    const tight = { limit_daily: 4, limit_monthly: "50", requests_per_minute: 9, tokens_per_minute: 90 };
    const { data } = (await patch({ ...tight, models: ["gpt-4o"], private: true })).body;
    assert.deepEqual([data?.limit, data?.models, data?.private], [4, ["gpt-4o"], true]);
    const limits = (data?.limits ?? []) as { name: string; limit: number }[];
    const shown = limits.map(({ name, limit }) => [name, limit]);
    assert.deepEqual(Object.fromEntries(shown), {
      ...{ limit_daily: 4_000_000_000, limit_monthly: 50_000_000_000 },
      ...{ requests_per_minute: 9, tokens_per_minute: 90 },
    });
    for (const [change, param] of [
      [{ limit_daily: 4.1 }, "limit"],
      [{ tokens_per_minute: 91 }, "limit"],
      [{ models: ["gpt-4o", "gpt-5"] }, null],
      [{ models: [] }, "models"],
      [{ private: false }, "private"],
      [{ requests_per_minute: 1.5 }, "requests_per_minute"],
    ] as const) {
      assertError(await patch(change), 400, "invalid_request", param);
    }
  });

  test("a limit's digits are taken as they are written", async () => {
    const { fixture, patch, bearer, id } = await open();
    const text = '{"limit":8999999.999999999}';
    const { body } = await fixture.call("PATCH", `/api/v1/keys/${id}`, { bearer, text });
    assert.equal(body.data?.limit_nano_usd, 8_999_999_999_999_999);
    assertError(await patch({ limit: "0.0000000001" }), 400, "invalid_request", "limit");
    assertError(await patch({ limit: -1 }), 400, "invalid_request", "limit");
    assertError(await patch({ limit: true }), 400, "invalid_request", "limit");
  });

  test("changes nothing else", async () => {
    const { patch } = await open("?limit=5&limit_reset=daily");
    for (const param of ["limit_reset", "expires_at", "usage", "id", "limitNanoUsd"]) {
      assertError(await patch({ [param]: "monthly" }), 400, "unsupported_parameter", param);
    }
    assertError(await patch({}), 400, "invalid_request");
    assertError(await patch({ name: "" }), 400, "invalid_request", "name");
    assertError(await patch({ disabled: 1 }), 400, "invalid_request", "disabled");
  });

  test("revokes: the key is dead at once, is listed no more, and cannot be changed; again is harmless", async () => {
    const { fixture, bearer, key, id, patch } = await open();
    const revoke = () => fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer });
    const { status, body } = await revoke();
    assert.deepEqual([status, body.deleted], [200, true]);
    assertError(await fixture.call("GET", "/api/v1/key", { bearer: key }), 401, "invalid_api_key");
    assert.deepEqual((await fixture.call("GET", "/api/v1/keys", { bearer })).body.data, []);
    assertError(await patch({ disabled: false }), 404, "not_found");
    assert.equal((await revoke()).status, 200);
  });

  test("lists the newest first", async () => {
    const { fixture, wallet, bearer } = await open("?name=first");
    fixture.time.now += 1000;
    await fixture.makeKey(wallet, "?name=second");
    const { body } = await fixture.call("GET", "/api/v1/keys", { bearer });
    assert.deepEqual(
      body.data?.map(({ name }) => name),
      ["second", "first"],
    );
  });

  test("sees and touches nothing of another's: a key of theirs is 404, and lives on", async () => {
    const { fixture, id, key } = await open();
    const bearer = await fixture.signIn(makeWallet());
    assert.deepEqual((await fixture.call("GET", "/api/v1/keys", { bearer })).body.data, []);
    const path = `/api/v1/keys/${id}`;
    assertError(await fixture.call("PATCH", path, { bearer, body: { disabled: true } }), 404, "not_found");
    assertError(await fixture.call("DELETE", path, { bearer }), 404, "not_found");
    assert.equal((await fixture.call("GET", "/api/v1/key", { bearer: key })).status, 200);
  });

  test("an API key manages none, its own neither", async () => {
    const { fixture, key, id } = await open();
    const calls = [
      fixture.call("GET", "/api/v1/keys", { bearer: key }),
      fixture.call("PATCH", `/api/v1/keys/${id}`, { bearer: key, body: { disabled: true } }),
      fixture.call("DELETE", `/api/v1/keys/${id}`, { bearer: key }),
    ];
    for (const answer of await Promise.all(calls)) assertError(answer, 403, "wrong_identity");
  });

  test("a call without a credential is told what to send: a session, where it takes no key", async () => {
    const { fixture } = await open();
    for (const [method, path, wanted] of [
      ["GET", "/api/v1/keys", "session"],
      ["PATCH", "/api/v1/keys/k", "session"],
      ["DELETE", "/api/v1/keys/k", "session"],
      ["DELETE", "/auth", "session"],
      ["GET", "/api/v1/credits", "key"],
      ["GET", "/api/v1/key", "key"],
      ["POST", "/api/v1/chat/completions", "key"],
    ] as const) {
      const said = { session: /^Sign in with POST \/auth and send its token as/, key: /^Send your API key as/ }[wanted];
      const answers = [fixture.call(method, path), fixture.call(method, path, { bearer: "two words" })];
      for (const answer of await Promise.all(answers)) {
        assertError(answer, 401, "missing_credentials");
        assert.match(answer.body.error?.message ?? "", said, `${method} ${path}`);
      }
    }
  });
});

describe("an account's keys", () => {
  test("are at most 100: the next needs one to be revoked, and its message stays good", async () => {
    const fixture = openFixture();
    const wallet = makeWallet();
    const made = await Promise.all(Array.from({ length: 100 }, () => fixture.makeKey(wallet)));
    const body = await sign(wallet, { resources: [KEY_ENDPOINT] });
    assertError(await fixture.call("POST", "/api/v1/keys", { body }), 400, "invalid_request");
    const bearer = await fixture.signIn(wallet);
    await fixture.call("DELETE", `/api/v1/keys/${made[0]?.id}`, { bearer });
    assert.equal((await fixture.call("POST", "/api/v1/keys", { body })).status, 201);
  });

  test("expire when they say so", async () => {
    const fixture = openFixture();
    const { key } = await fixture.makeKey(makeWallet(), "?expires_at=2026-11-22T13:00:00%2B01:00");
    fixture.time.now = NOW + DAY - 1;
    assert.equal((await fixture.call("GET", "/api/v1/key", { bearer: key })).status, 200);
    fixture.time.now = NOW + DAY;
    assertError(await fixture.call("GET", "/api/v1/key", { bearer: key }), 401, "key_expired");
  });
});
