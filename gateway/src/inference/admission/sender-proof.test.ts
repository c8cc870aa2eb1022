import assert from "node:assert/strict";
import { before, describe, mock, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { type Fixture, makeWallet, openFixture, type Wallet } from "../../../test/identity-fixture.ts";
import { limits } from "../../config.ts";

/** The work for a body before its credential is known to be valid. */
const CHAT = "/v1/chat/completions";

let fixture: Fixture;
let wallet: Wallet;
let key: string;
let id: string;
before(async () => {
  fixture = openFixture();
  wallet = makeWallet();
  ({ key, id } = await fixture.makeKey(wallet));
});

/** Posts a body, and tells how often it was parsed and how often the credential was looked up before. */
async function post(bearer: string, text: string) {
  let parsed = 0;
  let lookedUp = 0;
  let lookedUpFirst = 0;
  const { parse } = JSON;
  const parsing = mock.method(JSON, "parse", (given: string, ...more: []) => {
    if (given === text) {
      parsed += 1;
      lookedUpFirst = lookedUp;
    }
    return parse(given, ...more);
  });
  const { read } = fixture.gateway.environment.ledger;
  const reading = mock.method(fixture.gateway.environment.ledger, "read", ((partition, query) => {
    if (query.type === "credential") lookedUp += 1;
    return read(partition, query);
  }) as typeof read);
  try {
    const headers = { bearer, text };
    const { status, body } = await fixture.call("POST", CHAT, headers);
    return { status, code: body.error?.code, parsed, lookedUpFirst };
  } finally {
    parsing.mock.restore();
    reading.mock.restore();
  }
}

const numbers = (count: number): string =>
  `{"model":"m","messages":[{"role":"user","content":[${Array(count).fill("1").join(",")}]}]}`;
const large = numbers(10_000);
const small = numbers(1_000);

describe("a body is parsed", () => {
  test("without a look at its credential where it is small, which a refusal then takes", async () => {
    fixture.time.now += 2 * limits.provenMs;
    const { parsed, lookedUpFirst } = await post(key, small);
    assert.deepEqual([parsed, lookedUpFirst], [1, 0]);
  });

  test("where it is larger, for a credential that was looked up", async () => {
    fixture.time.now += 2 * limits.provenMs;
    const { parsed, lookedUpFirst } = await post(key, large);
    assert.deepEqual([parsed, lookedUpFirst], [1, 1]);
  });

  test("without another look for one that was good a moment ago", async () => {
    fixture.time.now += 2 * limits.provenMs;
    await post(key, large);
    fixture.time.now += limits.provenMs;
    const { parsed, lookedUpFirst } = await post(key, large);
    assert.deepEqual([parsed, lookedUpFirst], [1, 0]);
  });

  test("not for one that was revoked elsewhere, once a moment has gone by", async () => {
    fixture.time.now += 2 * limits.provenMs;
    await post(key, large);
    const at = fixture.time.now;
    fixture.ledger.apply(accountPartition(wallet.address), { type: "revokeKey", at, keyId: id });
    fixture.time.now += limits.provenMs + 1;
    const { status, code, parsed } = await post(key, large);
    assert.deepEqual([status, code, parsed], [401, "invalid_api_key", 0]);
    // A moment is over for it whether it is asked for or not.
    assert.deepEqual((await post(key, large)).parsed, 0);
  });

  test("not for one that nobody ever issued", async () => {
    const { text } = fixture.gateway.credentials.issue("ik", makeWallet().address);
    const { status, parsed } = await post(text, large);
    assert.deepEqual([status, parsed], [401, 0]);
  });
});
