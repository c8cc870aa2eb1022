import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendBytes } from "@inference/gateway/test/http-client";
import { accountPartition } from "@inference/ledger/partition";
import type { Address } from "@inference/protocol/credential";
import { isDeep } from "@inference/protocol/testing/deep";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/**
 * Credentials that are good no more, in the hands of somebody who wants to keep their owner out. On Node alone: it sets
 * a limit of its own, and the owner of an agent.
 */
const USD = 1_000_000_000;
const LIMIT = 10;

let now = Date.UTC(2026, 10, 21, 12);
/** The agents' tokens change hands. */
let owner: Address | null = null;
const operator = { accountRequestsPerMinute: LIMIT };
const stack = hostFor(() => startStack({ now: () => now, operator, chain: { agentOwner: async () => owner } }));

type Said = { status: number; code: string | undefined };

async function say(key: string, path: string, body?: unknown, method?: string): Promise<Said> {
  const answer = await stack.call(path, {
    key,
    ...(body === undefined ? {} : { body }),
    ...(method === undefined ? {} : { method }),
  });
  const text = await answer.text();
  return { status: answer.status, code: text === "" ? undefined : JSON.parse(text).error?.code };
}

/** A session of an agent's, in the hands of its token's owner. */
const openAgentSession = (agent: Address): Promise<string> => stack.openSession(agent, { owner: owner ?? agent });

const chat = { model: "sim-small", messages: [{ role: "user", content: "hi [[tokens=1]]" }], max_tokens: 5 };
/**
 * Every way to use a credential that comes to an answer without asking for its partition first. The fast run has every
 * second one.
 */
const uses: [what: string, path: string, body?: unknown, method?: string][] = [
  ["a good request", "/v1/chat/completions", chat],
  ["an unknown model", "/v1/chat/completions", { ...chat, model: "none" }],
  ["no JSON", "/v1/chat/completions", "{"],
  ["a read", "/api/v1/activity?from=nonsense"],
  ["a key's read", "/api/v1/key"],
  ["a wallet's read", "/api/v1/keys"],
  ["a wallet's change", "/api/v1/keys/key_1", { name: "x" }, "PATCH"],
];

for (const [what, path, body, method] of uses.filter((_, index) => isDeep || index % 2 === 0)) {
  test(`${what} with a revoked key is 401, and leaves its account all its requests but one`, async () => {
    const account = await stack.account(USD);
    const stolen = await stack.addKey(account.address);
    const revoke = { type: "revokeKey", at: now, keyId: stolen.keyId } as const;
    await stack.put(accountPartition(account.address), revoke);
    for (let left = LIMIT + 1; left > 0; left--) {
      assert.deepEqual(await say(stolen.key, path, body, method), { status: 401, code: "invalid_api_key" });
    }
    assert.equal((await say(stolen.key, path, body, method)).code, "rate_limited", "it is counted by itself");
    for (let left = LIMIT - 1; left > 0; left--) assert.equal((await say(account.key, "/api/v1/key")).status, 200);
    assert.equal((await say(account.key, "/api/v1/key")).code, "rate_limited");
  });

  test(`${what} with an ended session is 401, and leaves its identity all its requests but one`, async () => {
    const { address } = await stack.account(USD);
    const [good, ended] = [await stack.openSession(address), await stack.openSession(address)];
    assert.equal((await say(ended, "/auth", undefined, "DELETE")).status, 204);
    for (let left = LIMIT; left > 0; left--) {
      assert.deepEqual(await say(ended, path, body, method), { status: 401, code: "invalid_session" });
    }
    for (let left = LIMIT - 1; left > 0; left--) assert.equal((await say(good, "/api/v1/activity")).status, 200);
    assert.equal((await say(good, "/api/v1/activity")).code, "rate_limited");
  });
}

test("a session that is ended again and again takes nothing from the others", async () => {
  const { address } = await stack.account(USD);
  const [good, ended] = [await stack.openSession(address), await stack.openSession(address)];
  for (let left = LIMIT + 1; left > 0; left--)
    assert.equal((await say(ended, "/auth", undefined, "DELETE")).status, 204);
  assert.equal((await say(ended, "/auth", undefined, "DELETE")).code, "rate_limited");
  assert.equal((await say(good, "/api/v1/activity")).status, 200);
});

test("an agent's former owner takes nothing from the present one", async () => {
  const agent: Address = "0x00000000000000000000000000000000000a9e01";
  owner = "0x0000000000000000000000000000000000000f01";
  const former = await openAgentSession(agent);
  owner = "0x0000000000000000000000000000000000000f02";
  const present = await openAgentSession(agent);
  for (let left = LIMIT + 1; left > 0; left--) {
    const said = await say(former, "/v1/chat/completions", { ...chat, model: "none" });
    assert.deepEqual(said, { status: 403, code: "not_agent_owner" });
  }
  assert.equal((await say(present, "/api/v1/activity")).status, 200);
});

test("a body that never comes, with a revoked key, takes nothing more once one of them was late", async () => {
  await using hurried = await startStack({ now: () => now, hurry: 100, operator: { accountRequestsPerMinute: LIMIT } });
  const account = await hurried.account(USD);
  const stolen = await hurried.addKey(account.address);
  const revoke = { type: "revokeKey", at: now, keyId: stolen.keyId } as const;
  await hurried.put(accountPartition(account.address), revoke);
  const headers = { authorization: `Bearer ${stolen.key}`, "content-type": "application/json" };
  const head = Object.entries({ ...headers, host: "gateway.test", "content-length": "9" });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const late = () => sendBytes(hurried.url, `POST /v1/chat/completions HTTP/1.1\r\n${lines}\r\n{`);
  for (let left = LIMIT; left > 0; left--) assert.match(await late(), /^HTTP\/1\.1 408 /);
  assert.equal((await hurried.call("/api/v1/key", { key: account.key })).status, 200);
});

describe("small bodies that never come, with a key of an account's, take none of its memory", () => {
  let open: Stack;
  before(async () => {
    open = await startStack({ now: () => now });
  });
  after(() => open.stop());

  /** As many as one sender may have, and some. */
  async function announceBodies(key: string): Promise<Socket[]> {
    const { hostname, port } = new URL(open.url);
    const lines = [
      "host: a",
      `authorization: Bearer ${key}`,
      "content-type: application/json",
      "content-length: 65536",
    ];
    const sockets = Array.from({ length: 520 }, () => connect(Number(port), hostname));
    let answers = 0;
    for (const socket of sockets) {
      socket.on("error", () => undefined);
      socket.on("data", () => {
        answers += 1;
      });
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n{`);
    }
    await eventually(() => answers > 0);
    return sockets;
  }

  const use = (key: string) => open.call("/v1/chat/completions", { key, body: chat });
  /** Over HTTP the process that has seen it to be good is told. */
  async function end({ address }: TestAccount, keyId: string, method: string, body?: object): Promise<void> {
    const session = await open.openSession(address);
    const { ok } = await open.call(`/api/v1/keys/${keyId}`, { key: session, method, ...(body && { body }) });
    assert.ok(ok);
  }

  const ends: Record<string, (account: TestAccount, stolen: TestAccount) => Promise<void>> = {
    async "that was never seen here, and is revoked"({ address }, { keyId }) {
      await open.put(accountPartition(address), { type: "revokeKey", at: now, keyId });
    },
    async "that was used here, and is revoked"(account, { key, keyId }) {
      assert.equal((await use(key)).status, 200);
      await end(account, keyId, "DELETE");
    },
    async "that was used here, and is disabled"(account, { key, keyId }) {
      assert.equal((await use(key)).status, 200);
      await end(account, keyId, "PATCH", { disabled: true });
    },
  };
  for (const [what, end] of Object.entries(ends)) {
    test(what, async () => {
      const account = await open.account(USD);
      const stolen = await open.addKey(account.address);
      assert.equal((await use(account.key)).status, 200);
      await end(account, stolen);
      const sockets = await announceBodies(stolen.key);
      try {
        const answer = await use(account.key);
        assert.equal(answer.status, 200, await answer.text());
      } finally {
        for (const socket of sockets) socket.destroy();
      }
    });
  }
});

test("a key that was disabled and is enabled again counts against its account again", async () => {
  for (const [path, body] of [["/api/v1/key"], ["/v1/chat/completions", chat]] as const) {
    const account = await stack.account(USD);
    const key = await stack.addKey(account.address);
    const disable = (disabled: boolean) => ({ type: "updateKey", keyId: key.keyId, disabled }) as const;
    await stack.put(accountPartition(account.address), disable(true));
    for (let left = LIMIT; left > 0; left--) assert.equal((await say(key.key, path, body)).code, "key_disabled");
    await stack.put(accountPartition(account.address), disable(false));
    now += 60_000;
    await stack.gateway.prices.refresh();
    // The first one tells that it is good again.
    for (let left = LIMIT + 1; left > 0; left--) assert.equal((await say(key.key, path, body)).status, 200);
    assert.equal((await say(account.key, "/api/v1/key")).code, "rate_limited");
  }
});
