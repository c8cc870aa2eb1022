import assert from "node:assert/strict";
import { test } from "node:test";
import { statusAnswer } from "@inference/protocol/wire/answers";
import { makeWallet, openFixture, sign } from "../test/identity-fixture.ts";
import { defaultRequestLimits, limits, type RequestLimits } from "./config.ts";
import { configOf, gatewaySettings, parseSettings } from "./settings.ts";

const right = {
  BASE_URL: "http://gateway.test",
  GATEWAY_SECRET: "ab".repeat(32),
  UPSTREAM_BASE_URL: "https://provider.test/api/v1",
  UPSTREAM_API_KEY: "master",
  PRIMARY_RPC_URL: "http://node.test",
  PRIMARY_CHAIN_ID: "1",
  SETTLEMENT_ADDRESS: `0x${"5".repeat(40)}`,
};

const host = {
  mostDrainMs: limits.requestMs,
  bodyMemoryBytes: 256 * 1024 * 1024,
  answerMemoryBytes: 1,
  pricesFile: null,
};

function start(settings: Record<string, string>): { url: string | null; key: string } {
  const parsed = parseSettings(gatewaySettings, { ...right, ...settings });
  const { recordUrl, recordKey } = configOf(parsed, host).upstream;
  return { url: recordUrl, key: recordKey };
}

/** The chains that clients meet under these settings. */
function openWith(settings: Record<string, string>) {
  const { chainIds, chains } = configOf(parseSettings(gatewaySettings, { ...right, ...settings }), host);
  const fixture = openFixture({ chainIds, chains });
  return {
    fixture,
    async status() {
      const { text } = await fixture.call("GET", "/api/v1/status");
      return statusAnswer.parse(JSON.parse(text)).data;
    },
    async signIn(chainId: number, signature?: string): Promise<string> {
      const body = { ...(await sign(makeWallet(), { chainId })), ...(signature === undefined ? {} : { signature }) };
      const answer = await fixture.call("POST", "/auth", { body });
      return answer.body.error?.code ?? "signed in";
    },
  };
}

test("the status names every contract that the settings do, and no other", async () => {
  assert.deepEqual((await openWith({}).status()).contracts, {
    1: { inferenceSettlement: right.SETTLEMENT_ADDRESS },
  });
  const [a, b, c, d, e, f] = ["a", "b", "c", "d", "e", "f"].map((letter) => `0x${letter.repeat(40)}`);
  const given = {
    TOKEN_ADDRESS: a,
    MINTER_ADDRESS: b,
    STABLECOIN_ADDRESS: c,
    POOL_ADDRESS: d,
    REGISTRY_ADDRESS: e,
    BRIDGE_ADDRESS: f,
  } as Record<string, string>;
  assert.deepEqual((await openWith(given).status()).contracts, {
    1: {
      inferenceToken: a,
      tokenMinter: b,
      inferenceSettlement: right.SETTLEMENT_ADDRESS,
      stablecoin: c,
      inferencePool: d,
      agentRegistry: e,
      tokenBridge: f,
    },
  });
});

/** As `npm run deploy:contracts` prints it, but for most addresses. */
const deployed = [
  {
    name: "main",
    chainId: 1,
    eid: 30_101,
    block: 17,
    gasUsed: 9,
    addresses: { inferenceSettlement: right.SETTLEMENT_ADDRESS, tokenMinter: `0x${"6".repeat(40)}` },
    stablecoin: { decimals: 6, symbol: "USDC" },
  },
  { name: "far", chainId: 10, eid: 30_111, addresses: { tokenMinter: `0x${"6".repeat(40)}` }, block: 3, gasUsed: 9 },
];
const listed = (chains: unknown) => ({ CHAINS: typeof chains === "string" ? chains : JSON.stringify(chains) });

test("what a deployment prints is the list of chains: the status has their endpoint ids, addresses and sign-ins", async () => {
  const { status, signIn } = openWith({ ...listed(deployed), TOKEN_ADDRESS: `0x${"7".repeat(40)}` });
  const { layerzero_eids, contracts, chain_ids } = await status();
  assert.deepEqual(layerzero_eids, { 1: 30_101, 10: 30_111 });
  assert.deepEqual(contracts, {
    1: { ...deployed[0]?.addresses, inferenceToken: `0x${"7".repeat(40)}` },
    10: deployed[1]?.addresses,
  });
  assert.deepEqual(chain_ids, [1, 10]);
  assert.deepEqual(await Promise.all([1, 10, 2].map((id) => signIn(id))), [
    "signed in",
    "signed in",
    "siwe_chain_unsupported",
  ]);
  assert.deepEqual((await openWith({ ...listed(deployed), SIGN_IN_CHAIN_IDS: "12" }).status()).chain_ids, [1, 12]);
});

const [main, far] = deployed;
for (const [what, chains, says] of [
  ["no JSON", "main", /CHAINS: must be the list of chains .*: it is not a JSON list/],
  ["no list", { chainId: 1 }, /CHAINS: .*: it is not a JSON list/],
  ["no chain", [], /CHAINS: must be the list/],
  ["a chain twice", [main, main], /CHAINS: .*: chain 1 is in it twice/],
  [
    "a wrong address",
    [{ ...main, addresses: { tokenMinter: "0x1" } }],
    /0\.addresses\.tokenMinter: is not a 0x address/,
  ],
  ["no primary chain", [far], /CHAINS: has no chain 1, which PRIMARY_CHAIN_ID names/],
  [
    "another settlement contract",
    [{ ...main, addresses: { inferenceSettlement: `0x${"8".repeat(40)}` } }],
    /setting for it/,
  ],
  ["a node that is none", [{ ...main, rpcUrl: "ws://node.test" }], /0\.rpcUrl/],
] as const) {
  test(`a list of chains with ${what} is refused, and the refusal says what is wrong`, () => {
    assert.throws(() => openWith(listed(chains)), { name: "SettingsError", message: says });
  });
}

for (const [what, nodes, says] of [
  ["no JSON", "http://node.test", /SECONDARY_RPC_URLS: must be a JSON object/],
  ["no URL", { 10: "node.test" }, /SECONDARY_RPC_URLS/],
  ["an unknown chain", { 12: "http://node.test" }, /SECONDARY_RPC_URLS: chain 12 is no secondary chain in CHAINS/],
  ["the primary chain", { 1: "http://node.test" }, /SECONDARY_RPC_URLS: chain 1 is no secondary chain in CHAINS/],
  [
    "a chain whose contracts are not known",
    { 10: "http://node.test" },
    /SECONDARY_RPC_URLS: CHAINS has no \w+ on chain/,
  ],
] as const) {
  test(`nodes of secondary chains with ${what} are refused, and the refusal says what is wrong`, () => {
    const SECONDARY_RPC_URLS = typeof nodes === "string" ? nodes : JSON.stringify(nodes);
    assert.throws(() => openWith({ ...listed(deployed), SECONDARY_RPC_URLS }), {
      name: "SettingsError",
      message: says,
    });
  });
}

test("a wallet signs in for the primary chain and for those that were added, and for no other", async () => {
  const alone = openWith({});
  assert.deepEqual((await alone.status()).chain_ids, [1]);
  assert.deepEqual([await alone.signIn(1), await alone.signIn(10)], ["signed in", "siwe_chain_unsupported"]);
  const three = openWith({ SIGN_IN_CHAIN_IDS: "10, 1,12" });
  const { primary_chain_id, chain_ids } = await three.status();
  assert.deepEqual([primary_chain_id, chain_ids], [1, [1, 10, 12]]);
  assert.deepEqual(await Promise.all([1, 10, 12, 2].map((chainId) => three.signIn(chainId))), [
    "signed in",
    "signed in",
    "signed in",
    "siwe_chain_unsupported",
  ]);
});

test("a contract's wallet signs in for the primary chain alone, whatever was added", async () => {
  const { fixture, signIn } = openWith({ SIGN_IN_CHAIN_IDS: "10" });
  fixture.chain.acceptsSignature = async () => true;
  const signature = `0x${"ab".repeat(90)}`;
  assert.deepEqual([await signIn(1, signature), await signIn(10, signature)], ["signed in", "invalid_signature"]);
});

for (const wrong of ["base", "1;2", "1,,2", "-1", "1.5", "1".repeat(16), Array(17).fill("1").join(",")]) {
  test(`${wrong} are no chains to sign in for`, () => {
    assert.throws(() => openWith({ SIGN_IN_CHAIN_IDS: wrong }), /SIGN_IN_CHAIN_IDS: must be at most 16 chain ids/);
  });
}

test("the master key reads records of the provider's own host only", () => {
  const own = "https://provider.test/records?since={since}";
  assert.deepEqual(start({ UPSTREAM_RECORD_URL: own }), { url: own, key: "master" });
  for (const other of [
    "https://records.test/{id}",
    "http://provider.test/{id}",
    "https://provider.test:8443/{id}",
    "https://provider.test@records.test/{id}",
  ]) {
    assert.throws(() => start({ UPSTREAM_RECORD_URL: other }), /UPSTREAM_RECORD_KEY: is missing/);
    assert.equal(start({ UPSTREAM_RECORD_URL: other, UPSTREAM_RECORD_KEY: "admin" }).key, "admin");
  }
});

for (const wrong of ["{id}", "provider.test/{id}", "ftp://provider.test/{id}", "https://{id}.test/", "https://{id}"]) {
  test(`${wrong} is no record URL`, () => {
    assert.throws(() => start({ UPSTREAM_RECORD_URL: wrong }), /UPSTREAM_RECORD_URL: must be an http\(s\) URL/);
  });
}

test("an operator's limits have defaults, and 0 takes each of them away", () => {
  const operator = (settings: Record<string, string>) =>
    configOf(parseSettings(gatewaySettings, { ...right, ...settings }), host).operator;
  assert.deepEqual(operator({}), {
    accessLog: "0",
    metricsToken: null,
    service: { name: "Inference", logoUrl: null, support: null, termsUrl: null, privacyUrl: null, onRampUrl: null },
    addressHeader: null,
    accountRequestsPerMinute: 30_000,
    addressRequestsPerMinute: 60_000,
    breaker: { failures: 10, openMs: 5_000 },
    queue: { atOnce: 512, waiting: 1_024, waitMs: 20_000 },
    failures: { most: 18, windowMs: 30_000 },
    webhookTargets: "public",
    receiptMs: 400 * 86_400_000,
  });
  const names = [
    "ACCOUNT_REQUESTS_PER_MINUTE",
    "ADDRESS_REQUESTS_PER_MINUTE",
    "UPSTREAM_BREAKER_FAILURES",
    "UPSTREAM_MODEL_REQUESTS",
    "UPSTREAM_FAILURES",
  ];
  const { accountRequestsPerMinute, addressRequestsPerMinute, breaker, queue, failures } = operator(
    Object.fromEntries(names.map((name) => [name, "0"])),
  );
  assert.deepEqual([accountRequestsPerMinute, addressRequestsPerMinute, breaker, failures], [null, null, null, null]);
  assert.equal(queue.atOnce, Number.POSITIVE_INFINITY);
  assert.equal(operator({ RECEIPT_RETENTION_DAYS: "2" }).receiptMs, 2 * 86_400_000);
});

test("what a request may take has defaults, and each of its limits an end on both sides", () => {
  const request = (settings: Record<string, string>) =>
    configOf(parseSettings(gatewaySettings, { ...right, ...settings }), host).request;
  assert.deepEqual(request({}), defaultRequestLimits);
  const ends: [name: string, limit: keyof RequestLimits, least: number, most: number][] = [
    ["CHAT_BODY_BYTES", "chatBodyBytes", 1_024, 32 * 1024 * 1024],
    ["OTHER_BODY_BYTES", "otherBodyBytes", 1_024, 32 * 1024 * 1024],
    ["BODY_READ_MS", "bodyReadMs", 100, 47_999],
    ["ANSWER_MS", "answerMs", 1_000, limits.requestMs],
    ["STREAM_IDLE_MS", "streamIdleMs", 1_000, limits.requestMs],
    ["STALLED_READER_MS", "stalledReaderMs", 100, 30_000],
  ];
  for (const [name, limit, least, most] of ends) {
    for (const good of [least, most]) {
      assert.equal(request({ UPSTREAM_MODEL_WAIT_MS: "1", [name]: String(good) })[limit], good);
    }
    for (const [bad, why] of [
      [least - 1, `at least ${least}`],
      [most + 1, "at most"],
    ]) {
      assert.throws(() => request({ [name]: String(bad) }), new RegExp(`${name}: must be ${why}`));
    }
  }
});

test("an answer is read on for as long as the operator says and the host can", () => {
  const drainMs = (text: string, mostDrainMs: number) =>
    configOf(parseSettings(gatewaySettings, { ...right, DRAIN_MS: text }), { ...host, mostDrainMs }).drainMs;
  assert.deepEqual(
    ["", "0", String(limits.requestMs)].map((text) => drainMs(text, limits.requestMs)),
    [25_000, 0, limits.requestMs],
  );
  assert.throws(() => drainMs(String(limits.requestMs + 1), limits.requestMs), /DRAIN_MS: must be at most/);
  assert.throws(() => drainMs("30000", 25_000), /DRAIN_MS: must be at most 25000 on this host/);
});

test("a body and a turn take no longer together than the ledger allows a request since it came", () => {
  const times = (bodyMs: number, waitMs: number, more: Record<string, string> = {}) =>
    start({ BODY_READ_MS: String(bodyMs), UPSTREAM_MODEL_WAIT_MS: String(waitMs), ...more });
  times(28_000, 20_000);
  times(1_000, 47_000);
  const together = /BODY_READ_MS and UPSTREAM_MODEL_WAIT_MS: must be at most 48000 together/;
  assert.throws(() => times(28_001, 20_000), together);
  assert.throws(() => times(1_000, 47_001), together);
  assert.throws(() => times(48_000, 20_000, { UPSTREAM_MODEL_REQUESTS: "0" }), /BODY_READ_MS/);
});
