import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LedgerUnavailable } from "@inference/ledger/client";
import { accountPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import { hear } from "@inference/ledger/testing/example";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { makeRequestId } from "@inference/protocol/id";
import { readSignedReceipt } from "@inference/protocol/signed-receipt";
import { openChain } from "../../test/fund.ts";
import {
  type Answer,
  assertError,
  type Fixture,
  makeWallet,
  NOW,
  openFixture,
  PRIMARY,
  type Wallet,
} from "../../test/identity-fixture.ts";

const USD = 1_000_000_000;
const SNAPSHOT = "0123456789abcdef".repeat(2);
const REQUEST = makeRequestId(NOW, new Uint8Array(10));

/** An account with ten dollars, under a ceiling of fifty. */
async function openAccount(query = "") {
  const fixture = openFixture();
  const wallet = makeWallet();
  const partition = accountPartition(wallet.address);
  const { key, id } = await fixture.makeKey(wallet, query);
  fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 50 * USD });
  fixture.ledger.apply(partition, hear(10 * USD, { at: NOW }));
  return { fixture, wallet, partition, key, id, get: (path: string) => fixture.call("GET", path, { bearer: key }) };
}

async function reserve(fixture: Fixture, wallet: Wallet, key: string, amountNanoUsd: number): Promise<void> {
  const payer = fixture.gateway.credentials.verify(key)?.payer;
  assert.ok(payer !== undefined);
  const owner = accountPartition(wallet.address);
  const chain = chainPartition(PRIMARY);
  const request = { id: REQUEST, at: NOW, owner, payer, amountNanoUsd, leaseMs: 900_000, detail: "{}", chain };
  const { status } = await fixture.ledger.run(() => reserveRequest(request));
  assert.equal(status, "reserved");
}

function settle(fixture: Fixture, wallet: Wallet, chargeNanoUsd: number, detail: unknown): void {
  fixture.ledger.apply(accountPartition(wallet.address), {
    type: "settle",
    id: REQUEST,
    at: NOW + 2_500,
    chargeNanoUsd,
    lossNanoUsd: 77,
    snapshot: SNAPSHOT,
    detail: JSON.stringify(detail),
  });
  fixture.ledger.deliverAll();
}

const DETAIL = {
  route: "chat",
  model: "some-model",
  snapshot: SNAPSHOT,
  stream: true,
  basis: "usage",
  usage: { promptTokens: 120, completionTokens: 30, cacheReadTokens: 7, cacheWriteTokens: 0, reasoningTokens: 5 },
  upstreamId: "chatcmpl-1",
  cancelled: false,
  why: null,
};

describe("GET /api/v1/key", () => {
  test("follows what is held and settled, to the nano-dollar", async () => {
    const { fixture, wallet, key, get } = await openAccount("?limit=5.00&limit_reset=daily");
    await reserve(fixture, wallet, key, 2 * USD + 1);
    const held = (await get("/api/v1/key")).body.data;
    assert.deepEqual([held?.reserved_nano_usd, held?.limit_remaining_nano_usd], [2 * USD + 1, 3 * USD - 1]);
    settle(fixture, wallet, USD + 1, DETAIL);
    const { text, body } = await get("/api/v1/key");
    assert.match(
      text,
      /"limit_remaining":3\.999999999,.*"usage":1\.000000001,"usage_nano_usd":1000000001,"reserved":0,/,
    );
    assert.deepEqual([body.data?.is_free_tier, body.data?.is_management_key], [false, false]);
  });

  test("is each key's own", async () => {
    const { fixture, wallet, key, get } = await openAccount();
    const other = await fixture.makeKey(wallet, "?limit=1");
    await reserve(fixture, wallet, other.key, USD);
    settle(fixture, wallet, USD, DETAIL);
    assert.equal((await get("/api/v1/key")).body.data?.usage, 0);
    assert.notEqual(key, other.key);
  });
});

describe("GET /api/v1/credits", () => {
  test("is what was activated, used, held and is left", async () => {
    const { fixture, wallet, key, get } = await openAccount();
    await reserve(fixture, wallet, key, 3 * USD);
    settle(fixture, wallet, 1, DETAIL);
    const { text, body } = await get("/api/v1/credits");
    assert.match(text, /"total_usage":0\.000000001,.*"available":9\.999999999,/);
    assert.deepEqual([body.balance, body.total_used], ["9.999999999", "0.000000001"]);
    assert.equal((await get("/v1/credits")).text, text);
    assert.deepEqual(body.data, {
      total_credits: 10,
      total_credits_nano_usd: 10 * USD,
      total_usage: 1e-9,
      total_usage_nano_usd: 1,
      reserved: 0,
      reserved_nano_usd: 0,
      available: 9.999999999,
      available_nano_usd: 10 * USD - 1,
      debited: 0,
      debited_nano_usd: 0,
      taken_over: 0,
      taken_over_nano_usd: 0,
      pending: [],
      on_their_way: [],
    });
  });

  test("is less by debits on chain that no statement of the account caused, which are shown", async () => {
    const { fixture, partition, get } = await openAccount();
    fixture.ledger.apply(partition, hear(10 * USD, { at: NOW, debitedNanoUsd: 4 * USD, lastRoot: "foreign" }));
    const { data } = (await get("/api/v1/credits")).body;
    assert.deepEqual([data?.total_credits, data?.available, data?.debited, data?.taken_over], [10, 6, 4, 4]);
  });

  test("an account that never activated has nothing", async () => {
    const fixture = openFixture();
    const { key } = await fixture.makeKey(makeWallet());
    const { body } = await fixture.call("GET", "/api/v1/credits", { bearer: key });
    assert.deepEqual([body.data?.total_credits, body.data?.available], [0, 0]);
  });

  test("shows the account's own pending activations, and null while the chain cannot be read", async () => {
    const { fixture, wallet, get } = await openAccount();
    fixture.chain.pendingActivations = (account) =>
      account === wallet.address.toLowerCase() ? [{ amountNanoUsd: 2 * USD, block: 12, transaction: "0xaa" }] : [];
    assert.deepEqual((await get("/api/v1/credits")).body.data?.pending, [
      { amount: 2, amount_nano_usd: 2 * USD, block: 12, transaction: "0xaa" },
    ]);
    fixture.chain.pendingActivations = () => {
      throw new ChainUnavailable("down");
    };
    const { status, body } = await get("/api/v1/credits");
    assert.deepEqual([status, body.data?.pending, body.data?.available], [200, null, 10]);
  });
});

describe("GET /api/v1/generation", () => {
  test("is the receipt of a settled request, and says nothing of our losses", async () => {
    const { fixture, wallet, key, id, get } = await openAccount();
    await reserve(fixture, wallet, key, USD);
    settle(fixture, wallet, 123_456_789, DETAIL);
    const { body } = await get(`/api/v1/generation?id=${REQUEST}`);
    const { signed_receipt, ...told }: Record<string, unknown> = body.data ?? {};
    const signed = readSignedReceipt(String(signed_receipt));
    const { jti, iat, cost_nano_usd, snapshot, served_by } = signed ?? {};
    assert.deepEqual(
      [jti, iat, cost_nano_usd, snapshot, served_by],
      [REQUEST, NOW / 1_000, 123_456_789, SNAPSHOT, "protocol"],
    );
    assert.deepEqual(told, {
      id: REQUEST,
      upstream_id: "chatcmpl-1",
      model: "some-model",
      route: "chat",
      key_id: id,
      tag: null,
      created_at: "2026-11-21T12:00:00.000Z",
      generation_time: 2_500,
      streamed: true,
      cancelled: false,
      outcome: "settled",
      basis: "usage",
      total_cost: 0.123456789,
      charge_nano_usd: 123_456_789,
      ends_at_nano_usd: 123_456_789,
      held_nano_usd: USD,
      price_snapshot: SNAPSHOT,
      tokens_prompt: 120,
      tokens_completion: 30,
      native_tokens_prompt: 120,
      native_tokens_completion: 30,
      native_tokens_reasoning: 5,
      native_tokens_cached: 7,
      native_tokens_cache_write: 0,
      audio_seconds: null,
      served_by: "protocol",
      offer: null,
      rebate: 0,
      rebate_nano_usd: 0,
      settlement: {
        status: "pending",
        ends_at_nano_usd: 123_456_789,
        statement: null,
        leaf: null,
        proof: null,
        record: null,
      },
    });
  });

  test("of a request that the ceiling refused says that it cost nothing", async () => {
    const { fixture, partition, wallet, key, get } = await openAccount();
    await reserve(fixture, wallet, key, USD);
    const detail = JSON.stringify({ refusedBy: "ceiling" });
    fixture.ledger.apply(partition, { type: "release", id: REQUEST, at: NOW, lossNanoUsd: 0, detail });
    const { data } = (await get(`/api/v1/generation?id=${REQUEST}`)).body;
    assert.deepEqual([data?.outcome, data?.charge_nano_usd, data?.model], ["released", 0, null]);
  });

  test("is 404 while the request is in flight, for an id that never was, and for another's", async () => {
    const { fixture, wallet, key, get } = await openAccount();
    const path = `/api/v1/generation?id=${REQUEST}`;
    assertError(await get(path), 404, "not_found");
    await reserve(fixture, wallet, key, USD);
    assertError(await get(path), 404, "not_found");
    settle(fixture, wallet, 1, DETAIL);
    const other = await fixture.makeKey(makeWallet());
    assertError(await fixture.call("GET", path, { bearer: other.key }), 404, "not_found");
    assert.equal((await get(path)).status, 200);
  });

  test("wants an id, of no more characters than one has", async () => {
    const { get } = await openAccount();
    for (const query of ["", "?id=", `?id=${"x".repeat(201)}`]) {
      assertError(await get(`/api/v1/generation${query}`), 400, "invalid_request");
    }
    assertError(await get(`/api/v1/generation?id=${"x".repeat(200)}`), 404, "not_found");
  });
});

describe("whose receipts a credential reads", () => {
  const generation = `/api/v1/generation?id=${REQUEST}`;
  const ids = ({ body }: Answer): unknown[] => (body.data ?? []).map(({ id }) => id);

  test("an API key those of its own requests, not those of the account's other keys", async () => {
    const { fixture, wallet, key, id, get } = await openAccount();
    const other = await fixture.makeKey(wallet);
    await reserve(fixture, wallet, key, USD);
    settle(fixture, wallet, 1, DETAIL);
    assert.deepEqual(ids(await get("/api/v1/activity")), [REQUEST]);
    const asOther = (path: string) => fixture.call("GET", path, { bearer: other.key });
    assertError(await asOther(generation), 404, "not_found");
    for (const query of ["", `?key_id=${id}`, "?group_by=key", `?group_by=day&key_id=${id}`]) {
      assert.deepEqual((await asOther(`/api/v1/activity${query}`)).body.data, [], query);
    }
    assertError(await get("/api/v1/activity?budget=capacity"), 403, "wrong_identity");
  });

  test("a wallet's session those of all its keys, and of one if it asks so; another wallet's none of them", async () => {
    const { fixture, wallet, key, id } = await openAccount();
    await fixture.makeKey(wallet);
    await reserve(fixture, wallet, key, USD);
    settle(fixture, wallet, 1, DETAIL);
    const bearer = await fixture.signIn(wallet);
    const get = (path: string) => fixture.call("GET", path, { bearer });
    assert.equal((await get(generation)).body.data?.id, REQUEST);
    assert.deepEqual(ids(await get("/api/v1/activity")), [REQUEST]);
    assert.deepEqual(ids(await get(`/api/v1/activity?key_id=${id}`)), [REQUEST]);
    assert.deepEqual(ids(await get("/api/v1/activity?key_id=key_none")), []);
    assert.deepEqual(ids(await get("/api/v1/activity?budget=capacity")), []);
    const stranger = await fixture.signIn(makeWallet());
    assertError(await fixture.call("GET", generation, { bearer: stranger }), 404, "not_found");
    for (const query of ["", `?key_id=${id}`, `?key_id=${id}&group_by=key`, `?cursor=${REQUEST}`]) {
      assert.deepEqual(ids(await fixture.call("GET", `/api/v1/activity${query}`, { bearer: stranger })), [], query);
    }
  });

  test("an agent's session what the agent's capacity served, and nothing of its owner's balance", async () => {
    const { fixture, wallet, key } = await openAccount();
    await reserve(fixture, wallet, key, USD);
    settle(fixture, wallet, 1, DETAIL);
    const agentToken = "0x00000000000000000000000000000000000000Ab";
    fixture.chain.agentOwner = async () => wallet.address;
    const bearer = await fixture.signIn(wallet, { agentToken });
    assert.deepEqual(ids(await fixture.call("GET", "/api/v1/activity", { bearer })), []);
    assertError(await fixture.call("GET", generation, { bearer }), 404, "not_found");
    assertError(await fixture.call("GET", "/api/v1/activity?budget=balance", { bearer }), 403, "wrong_identity");
  });
});

describe("what a holder reads of its own", () => {
  test("a wallet's session reads its balance as a key does; an agent's session is 403, also its owner's", async () => {
    const { fixture, wallet, get } = await openAccount();
    const session = await fixture.signIn(wallet);
    const answer = await fixture.call("GET", "/api/v1/credits", { bearer: session });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.data, (await get("/api/v1/credits")).body.data);
    assert.equal(answer.body.data?.available_nano_usd, 10 * USD);
    const stranger = await fixture.signIn(makeWallet());
    const theirs = await fixture.call("GET", "/api/v1/credits", { bearer: stranger });
    assert.equal(theirs.body.data?.available_nano_usd, 0);
    fixture.chain.agentOwner = async () => wallet.address;
    const agent = await fixture.signIn(wallet, { agentToken: `0x${"a".repeat(40)}` });
    const refused = await fixture.call("GET", "/api/v1/credits", { bearer: agent });
    assertError(refused, 403, "wrong_identity");
    assert.match(refused.body.error?.message ?? "", /Sign in without `agentToken`/);
  });
});

describe("what anyone reads", () => {
  test("the status: ceiling, chains, contracts and prices", async () => {
    const { fixture, wallet, key } = await openAccount();
    const { id: snapshot } = await fixture.gateway.prices.refresh();
    await reserve(fixture, wallet, key, 2 * USD);
    fixture.time.now = NOW + 5_000;
    const { status, body } = await fixture.call("GET", "/api/v1/status");
    assert.equal(status, 200);
    assert.deepEqual(body.data?.ceiling, {
      limit: 50,
      limit_nano_usd: 50 * USD,
      settled: 0,
      settled_nano_usd: 0,
      held: 2,
      held_nano_usd: 2 * USD,
      left: 48,
      left_nano_usd: 48 * USD,
      resets_at: "2026-11-22T00:00:00.000Z",
    });
    assert.deepEqual(body.data?.prices, { snapshot, age_s: 5, models: 2 });
    assert.deepEqual([body.data?.primary_chain_id, body.data?.chain_ids], [31_337, [31_337, 31_338]]);
    assert.deepEqual(body.data?.contracts, { 31337: fixture.gateway.config.chains[0]?.contracts });
    assert.match(String(body.data?.version), /^\d+\.\d+\.\d+$/);
  });

  test("health: 200 with prices and a ledger; 503 naming the one that is missing", async () => {
    const fixture = openFixture();
    const health = async () => {
      const { status, body } = await fixture.call("GET", "/healthz");
      return { status, body };
    };
    const [ok, unavailable] = ["ok", "unavailable"];
    const provider = "unknown";
    const checks = { ledger: "behind", prices: unavailable, provider };
    const unread = { status: unavailable, checks, chain: "following" };
    assert.deepEqual(await health(), { status: 503, body: unread }, "the chain is not read far enough");
    await openChain((partition, command) => fixture.ledger.run(() => send(partition, command)));
    const withoutPrices = { ...unread, checks: { ...checks, ledger: ok } };
    assert.deepEqual(await health(), { status: 503, body: withoutPrices });
    await fixture.gateway.prices.refresh();
    assert.deepEqual(await health(), {
      status: 200,
      body: { status: ok, checks: { ledger: ok, prices: ok, provider }, chain: "following" },
    });
    fixture.ledger.read = async () => {
      throw new LedgerUnavailable("full");
    };
    const without = { ledger: unavailable, prices: ok, provider };
    const withoutLedger = { status: unavailable, checks: without, chain: "following" };
    assert.deepEqual(await health(), { status: 503, body: withoutLedger });
  });

  test("why the ledger takes no request is told to the operator, and to nobody else", async () => {
    const { fixture, get } = await openAccount();
    const logged: unknown[] = [];
    fixture.gateway.environment.log = (...line) => logged.push(line);
    fixture.ledger.read = async () => {
      throw new LedgerUnavailable("the disk is full");
    };
    const answer = await get("/api/v1/credits");
    assertError(answer, 503, "ledger_unavailable");
    assert.doesNotMatch(answer.text, /disk/);
    assert.match(answer.body.error?.message ?? "", /Retry in a few seconds\.$/);
    const request = answer.headers.get("x-request-id");
    assert.deepEqual(logged, [["warn", "ledger_unavailable", { request, error: "the disk is full" }]]);
  });

  test("the status without prices says so", async () => {
    const { body } = await openFixture().call("GET", "/api/v1/status");
    assert.equal(body.data?.prices, null);
  });
});
