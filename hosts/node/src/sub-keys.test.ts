import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { UpstreamFailure } from "@inference/gateway/environment";
import { hostFor } from "@inference/gateway/test/host-for";
import { providerRecord } from "@inference/gateway/test/settlement/audit";
import { makeTag } from "@inference/gateway/test/settlement/pay";
import { agentPartition, identityPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, windowStart } from "@inference/protocol/window";
import { startStack } from "./testing/stack.ts";

/**
 * Keys at the provider made under the master key, one for each identity, through its key-management API. On Node alone:
 * it replaces what the chain, the store and the way to the provider answer.
 */
const USD = 1_000_000_000;
const MINUTE = 60_000;

let now = windowStart("day", Date.now()) + DAY_MS / 2;
const capacities = new Map<Address, number>();
let isChainDown = false;
/** How far behind us the chain's latest block is. */
let lagMs = 0;
const stack = hostFor(() =>
  startStack({
    subKeys: true,
    now: () => now,
    chain: {
      async capacityToday(identity) {
        if (isChainDown) throw new ChainUnavailable("no node");
        return { capacityNanoUsd: capacities.get(identity) ?? 0, at: now - lagMs };
      },
      agentOwner: async (agent) => `0x${agent.slice(2).replaceAll("a", "b")}`,
    },
  }),
);

type Identity = { address: Address; agentToken: Address | null };

/** An identity with this capacity, and its session. */
async function makeIdentity(
  capacityNanoUsd: number,
  isAgent = false,
): Promise<{ name: string; key: string } & Identity> {
  const bytes = randomBytes(20).toString("hex").replaceAll("b", "a");
  const agentToken: Address | null = isAgent ? `0x${bytes}` : null;
  const address: Address = isAgent ? `0x${bytes.replaceAll("a", "b")}` : `0x${bytes}`;
  const identity = agentToken ?? address;
  capacities.set(identity, capacityNanoUsd);
  const { text, digest } = stack.gateway.credentials.issue(isAgent ? "ia" : "is", identity);
  const session = { digest, address, agentToken, at: now, expiresAt: now + DAY_MS };
  const partition = agentToken === null ? identityPartition(address) : agentPartition(agentToken);
  await stack.ledger.run(() => send(partition, { type: "openSession", ...session }));
  const name = isAgent ? `vkey:agent:${agentToken}` : `vkey:${address}`;
  return { address, agentToken, key: text, name };
}

async function ask(
  key: string,
  markers = "",
  tag = makeTag(),
): Promise<{ status: number; text: string; keyId: string | null }> {
  const messages = [{ role: "user", content: `${tag} ${markers}` }];
  const answer = await stack.call("/v1/chat/completions", {
    key,
    body: { model: "sim-small", messages, max_tokens: 50 },
  });
  const text = await answer.text();
  const isSent = answer.status === 200 || markers !== "";
  return { status: answer.status, text, keyId: isSent ? (await providerRecord(stack, tag)).keyId : null };
}

const keys = () => stack.simulator.simulator.keys;
const ownKeys = () =>
  keys()
    .list()
    .filter(({ description }) => description.startsWith("gateway "));
const terms: Parameters<ReturnType<typeof keys>["create"]>[0] = {
  description: "another's",
  expiresAt: null,
  consumptionLimit: { usd: null, diem: null },
};
const stored = async (name: string) => (await stack.gateway.environment.keyValue.get(name)) ?? "";

test("each identity's requests go with a key of its own, limited to its capacity of a day", async () => {
  const [wallet, agent] = [await makeIdentity(2.5 * USD), await makeIdentity(7 * USD, true)];
  const [first, again, other] = [await ask(wallet.key), await ask(wallet.key), await ask(agent.key)];
  assert.deepEqual([first.status, again.status, other.status], [200, 200, 200]);
  assert.equal(first.keyId, again.keyId);
  assert.notEqual(first.keyId, other.keyId);
  const [ofWallet, ofAgent] = [keys().find(first.keyId ?? ""), keys().find(other.keyId ?? "")];
  for (const [key, limit] of [
    [ofWallet, 2.5],
    [ofAgent, 7],
  ] as const) {
    // The stake and the paid balance.
    assert.deepEqual([key?.consumptionLimit.diem, key?.consumptionLimit.usd], [limit, limit]);
  }
  // An account's requests use the master key.
  const { key } = await stack.account(USD);
  assert.equal((await ask(key)).keyId, "key-master");
});

test("a key's secret is stored sealed, under its identity's name alone, and no client sees it", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  const secret = keys().find(keyId ?? "")?.secret ?? "";
  assert.ok(secret.length > 20);
  const record = await stored(identity.name);
  assert.ok(record.includes(keyId ?? "") && !record.includes(secret));
  // The provider repeats the key it was sent; what the client gets has neither it nor the master key.
  const { status, text } = await ask(identity.key, "[[fault=401-key-in-body]]");
  assert.equal(status, 503);
  assert.ok(!text.includes(secret) && !text.includes(stack.canary));
  const logged = JSON.stringify(stack.logged);
  assert.ok(!logged.includes(secret) && !logged.includes(stack.canary));
  // Another identity's record, put in the place of one's own, opens nothing: a key of its own is made.
  const thief = await makeIdentity(USD);
  const { readAt, ...rest } = JSON.parse(record) as { readAt: number };
  await stack.gateway.environment.keyValue.put(thief.name, JSON.stringify({ readAt, ...rest }));
  const stolen = await ask(thief.key);
  assert.equal(stolen.status, 200);
  assert.notEqual(stolen.keyId, keyId);
});

test("a capacity that changed is the key's limit a minute later", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  capacities.set(identity.address, 1_500_000_001);
  now += MINUTE - 1;
  await ask(identity.key);
  assert.equal(keys().find(keyId ?? "")?.consumptionLimit.usd, 1);
  now += 1;
  assert.equal((await ask(identity.key)).keyId, keyId);
  assert.equal(keys().find(keyId ?? "")?.consumptionLimit.usd, 1.500000001);
  capacities.set(identity.address, 0);
  now += MINUTE;
  assert.equal((await ask(identity.key)).status, 402);
  assert.equal(keys().find(keyId ?? "")?.consumptionLimit.usd, 0);
});

test("a capacity is spent here before the provider's own limit is: its key is never refused", async () => {
  const identity = await makeIdentity(200_000);
  const { keyId } = await ask(identity.key);
  let said = await ask(identity.key);
  for (let left = 20; left > 0 && said.status === 200; left--) said = await ask(identity.key);
  assert.deepEqual([said.status, said.text.includes("capacity_exhausted")], [402, true]);
  const statuses = stack.simulator.simulator.records.select((record) => record.keyId === keyId, 100);
  assert.ok(statuses.length > 2 && statuses.every(({ status }) => status === 200));
  const view = await stack.ledger.read(identityPartition(identity.address), { type: "capacity", at: now });
  assert.ok(view.heldNanoUsd === 0 && view.settledNanoUsd <= 200_000);
});

test("concurrent first requests make one key, and none without capacity", async () => {
  const before = ownKeys().length;
  const identity = await makeIdentity(USD);
  const said = await Promise.all(Array.from({ length: 8 }, () => ask(identity.key)));
  assert.ok(said.every(({ status }) => status === 200));
  assert.equal(ownKeys().length, before + 1);
  const nobody = await makeIdentity(0);
  assert.equal((await ask(nobody.key)).status, 402);
  assert.equal(ownKeys().length, before + 1);
});

test("requests that meet while a key is made, and after it, use that key", async () => {
  const before = ownKeys().length;
  const identity = await makeIdentity(USD);
  const { keyValue } = stack.gateway.environment;
  const { get } = keyValue;
  const { promise: made, resolve: goOn } = Promise.withResolvers<void>();
  // One has looked for a record, and is told that there is none when another has made one.
  keyValue.get = async (name) => {
    const found = await get(name);
    keyValue.get = get;
    await made;
    return found;
  };
  const late = ask(identity.key);
  await eventually(async () => keyValue.get === get);
  const { keyId } = await ask(identity.key);
  goOn();
  assert.equal((await late).keyId, keyId);
  assert.equal(ownKeys().length, before + 1);
});

test("a store that does not answer is 503, and no reason to make another key", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  const { keyValue } = stack.gateway.environment;
  const { get } = keyValue;
  const before = ownKeys().length;
  keyValue.get = async () => Promise.reject(new Error("no store"));
  try {
    const { status, text } = await ask(identity.key);
    assert.deepEqual([status, text.includes("upstream_unavailable")], [503, true]);
  } finally {
    keyValue.get = get;
  }
  assert.ok(stack.logged.some(({ level, event }) => level === "alert" && event === "key_record"));
  assert.deepEqual([(await ask(identity.key)).keyId, ownKeys().length], [keyId, before]);
});

test("a store that keeps nothing is no reason to make a key for every request", async () => {
  const { keyValue } = stack.gateway.environment;
  const { put } = keyValue;
  const before = ownKeys().length;
  const identity = await makeIdentity(USD);
  keyValue.put = async () => Promise.reject(new Error("full"));
  try {
    const { keyId } = await ask(identity.key);
    now += MINUTE;
    assert.deepEqual([(await ask(identity.key)).keyId, await stored(identity.name)], [keyId, ""]);
  } finally {
    keyValue.put = put;
  }
  now += MINUTE;
  assert.equal((await ask(identity.key)).status, 200);
  assert.equal(ownKeys().length, before + 1);
  assert.notEqual(await stored(identity.name), "", "it is kept as soon as it can be");
  await stack.gateway.prices.refresh();
});

test("an unreadable record counts as none", async () => {
  const identity = await makeIdentity(USD);
  for (const nonsense of ["{", "null", "{}"]) {
    await stack.gateway.environment.keyValue.put(identity.name, nonsense);
    stack.simulator.simulator.keys.reset();
    assert.equal((await ask(identity.key)).status, 200, nonsense);
  }
});

test("a 401 that is about something else leaves the key as it is", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  const before = ownKeys().length;
  assert.equal((await ask(identity.key, "[[fault=401]]")).status, 503);
  assert.deepEqual([(await ask(identity.key)).keyId, ownKeys().length], [keyId, before]);
});

test("a key that the provider does not take any more is replaced by the next request", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  keys().remove(keyId ?? "");
  const tag = makeTag();
  const body = { model: "sim-small", messages: [{ role: "user", content: tag }], max_tokens: 50 };
  const refused = await stack.call("/v1/chat/completions", { key: identity.key, body });
  assert.equal(refused.status, 503);
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, "upstream_unavailable");
  const isInvalidated = async () => (await stored(identity.name)).includes('"limitNanoUsd":null');
  await eventually(isInvalidated);
  const after = await ask(identity.key);
  assert.equal(after.status, 200);
  assert.notEqual(after.keyId, keyId);
  const view = await stack.ledger.read(identityPartition(identity.address), { type: "capacity", at: now });
  assert.equal(view.heldNanoUsd, 0);
});

test("where the provider makes no more keys, the request is refused, and nothing is held", async () => {
  const identity = await makeIdentity(USD);
  // As many as it makes in a minute.
  for (let left = 20; left > 0; left--) keys().create(terms);
  const refused = await ask(identity.key);
  assert.deepEqual([refused.status, refused.text.includes("upstream_unavailable")], [503, true]);
  assert.deepEqual(await stack.rows("receipt", identityPartition(identity.address)), []);
  assert.ok(stack.logged.some(({ level, event }) => level === "alert" && event === "sub_key"));
});

test("where the provider does not change a limit, the key goes on with the one it has, and is tried again", async () => {
  const { upstream } = stack.gateway.environment;
  const { send: sendAll } = upstream;
  const identity = await makeIdentity(USD);
  stack.simulator.simulator.keys.reset();
  const { keyId } = await ask(identity.key);
  const limit = () => keys().find(keyId ?? "")?.consumptionLimit.usd;
  capacities.set(identity.address, 2 * USD);
  upstream.send = async (request) => {
    if (request.method === "PATCH") throw new UpstreamFailure("not_sent", "no way there");
    return sendAll(request);
  };
  try {
    now += MINUTE;
    assert.deepEqual([(await ask(identity.key)).keyId, limit()], [keyId, 1]);
  } finally {
    upstream.send = sendAll;
  }
  now += MINUTE;
  assert.deepEqual([(await ask(identity.key)).keyId, limit()], [keyId, 2]);
});

test("a node that is a day behind changes nothing of what is known of today", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  const record = await stored(identity.name);
  capacities.set(identity.address, 9 * USD);
  lagMs = DAY_MS;
  now += MINUTE;
  assert.equal((await ask(identity.key)).keyId, keyId);
  assert.equal(await stored(identity.name), record);
  assert.equal(keys().find(keyId ?? "")?.consumptionLimit.usd, 1);
  lagMs = 0;
});

test("a key is renewed before it expires, and serves on while the chain does not answer", async () => {
  const identity = await makeIdentity(USD);
  const { keyId } = await ask(identity.key);
  isChainDown = true;
  now += 9 * MINUTE;
  assert.equal((await ask(identity.key)).keyId, keyId);
  isChainDown = false;
  now += 29 * DAY_MS;
  await stack.gateway.prices.refresh();
  const { text, digest } = stack.gateway.credentials.issue("is", identity.address);
  const session = { digest, address: identity.address, agentToken: null, at: now, expiresAt: now + DAY_MS };
  await stack.ledger.run(() => send(identityPartition(identity.address), { type: "openSession", ...session }));
  const renewed = await ask(text);
  assert.equal(renewed.status, 200);
  assert.notEqual(renewed.keyId, keyId);
});
