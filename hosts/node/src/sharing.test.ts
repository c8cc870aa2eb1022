import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertError } from "@inference/gateway/test/assert-error";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendHttp, type WireAnswer } from "@inference/gateway/test/http-client";
import type { Address } from "@inference/protocol/credential";
import { formatSiweMessage } from "@inference/protocol/siwe";
import { eventually } from "@inference/protocol/testing/eventually";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { bytesInUse } from "./testing/heap.ts";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/**
 * No client can take all of what clients share: memory, turns at the provider, the node, the provider's failure budget.
 * On Node alone: it looks into the gateway's memory.
 */
const USD = 1_000_000_000;
const MIB = 1024 * 1024;
const CHAT = "/v1/chat/completions";
/** Bodies that never end stay until their test is over, also on a slow machine. */
const patient = { bodyReadMs: 3_600_000 };

function bodyOf(content: string, more: object = {}): object {
  return { model: "sim-small", messages: [{ role: "user", content }], max_tokens: 100, ...more };
}

function ask(stack: Stack, { key }: { key: string }, body: object): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return sendHttp(stack.url, { path: CHAT, body: JSON.stringify(body), headers });
}

let lastIdentity = 0;

/** A session as anybody gets one for a signature. */
async function freeSession(stack: Stack): Promise<{ key: string }> {
  lastIdentity += 1;
  return { key: await stack.openSession(`0xf${lastIdentity.toString(16).padStart(39, "0")}`) };
}

/** Requests whose bodies never end. */
function makeTrickle(stack: Stack) {
  const sockets: Socket[] = [];
  const answers: string[] = [];
  return {
    answers,
    /** Sends so many bytes of a body that is announced as larger by one. */
    async send(bytes: number, headers: string): Promise<void> {
      const socket = connect(Number(new URL(stack.url).port), "127.0.0.1");
      sockets.push(socket);
      socket.setEncoding("latin1");
      socket.on("data", (text: string) => answers.push(text));
      socket.on("error", () => undefined);
      const head = `${headers}\r\nhost: gateway\r\ncontent-type: application/json\r\ncontent-length: ${bytes + 1}\r\n\r\n`;
      await new Promise<void>((resolve) => socket.write(head + "x".repeat(bytes), () => resolve()));
    },
    stop(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const chatHeaders = (key: string): string => `POST ${CHAT} HTTP/1.1\r\nauthorization: Bearer ${key}`;

describe("the memory for bodies", () => {
  const stack = hostFor(() => startStack({ request: patient }));

  test("is an eighth a session's at most, however many large bodies it begins", async () => {
    const [session, other] = [await freeSession(stack), await stack.account(USD)];
    const trickle = makeTrickle(stack);
    try {
      for (let left = 5; left > 0; left--) await trickle.send(7 * MIB, chatHeaders(session.key));
      await eventually(() => trickle.answers.length > 0);
      assert.match(trickle.answers[0] ?? "", /^HTTP\/1\.1 503 .*retry-after: 2.*"code":"overloaded"/is);
      for (const padding of ["", "x".repeat(4 * MIB)]) {
        const answer = await ask(stack, other, bodyOf("hello", { metadata: { padding } }));
        assert.equal(answer.status, 200, answer.text);
      }
    } finally {
      trickle.stop();
    }
  });

  test("is not filled by clients without a credential: others sign in meanwhile", async () => {
    const proxied = await startStack({ operator: { addressHeader: "x-forwarded-for" }, request: patient });
    const trickle = makeTrickle(proxied);
    try {
      for (let left = 257; left > 0; left--) {
        await trickle.send(16 * 1024 - 1, "POST /auth HTTP/1.1\r\nx-forwarded-for: 203.0.113.1");
      }
      await eventually(() => trickle.answers.length > 0);
      assert.match(trickle.answers[0] ?? "", /^HTTP\/1\.1 503 .*"code":"overloaded"/s);
      const headers = { "content-type": "application/json", "x-forwarded-for": "203.0.113.2" };
      const answer = await sendHttp(proxied.url, { path: "/auth", body: "{}", headers });
      assertError(answer, 400, "invalid_request");
    } finally {
      trickle.stop();
      await proxied.stop();
    }
  });

  test("is counted as it is used: a large body is held in bytes, whatever its characters", async () => {
    const { bodyMemory } = stack.gateway;
    for (const letter of ["\u00e9", "\u20ac"]) {
      const account = await stack.account(USD);
      const content = `${"x".repeat(100_000)}${letter}[[gate=${letter}]]`;
      const inFlight = ask(stack, account, bodyOf(content));
      await eventually(async () => (await stack.balance(account.address)).heldNanoUsd > 0);
      /** Half of all there is, with this body, if it has so many bytes. */
      const has = (least: number): boolean => {
        const fillers = [32 * MIB, 32 * MIB, 32 * MIB, 32 * MIB - least].map((size, index) => {
          const filler = bodyMemory.open();
          filler.take(size, { name: `filler ${index}`, hasCredential: true });
          return filler;
        });
        const isScarce = bodyMemory.isScarce();
        for (const filler of fillers) filler.release();
        return isScarce;
      };
      assert.deepEqual([has(100_000), has(101_000)], [true, false]);
      stack.simulator.simulator.gate(letter).resolve();
      assert.equal((await inFlight).status, 200);
    }
  });

  test("is kept for who can pay once half of it is taken", async () => {
    const { bodyMemory } = stack.gateway;
    const others = Array.from({ length: 4 }, (_, index) => ({ name: `other ${index}`, hasCredential: true }));
    const bodies = others.map((sender) => {
      const body = bodyMemory.open();
      body.take(32 * MIB, sender);
      return body;
    });
    try {
      const [free, empty, paying] = [await freeSession(stack), await stack.account(0), await stack.account(USD)];
      for (const { key } of [free, empty]) {
        const refused = await ask(stack, { key }, bodyOf("hello"));
        assert.match(assertError(refused, 503, "overloaded").message, /^The gateway is overloaded\./);
        assert.equal(refused.headers["retry-after"], "5");
        assertError(await ask(stack, { key }, bodyOf("x".repeat(100_000))), 503, "overloaded");
      }
      assert.equal((await ask(stack, paying, bodyOf("hello"))).status, 200);
      assert.equal((await ask(stack, paying, bodyOf("x".repeat(10_000)))).status, 200);
    } finally {
      for (const body of bodies) body.release();
    }
  });

  test("holds of a request what is sent on, not what its client padded it with", async () => {
    const account = await stack.account(100 * USD);
    const { bodyMemory } = stack.gateway;
    const padded = JSON.stringify(bodyOf("[[gate=padded]]")).replace("{", `{${" ".repeat(7 * MIB)}`);
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    // Five at once would be more than an eighth.
    const answers: Promise<WireAnswer>[] = [];
    for (let count = 1; count <= 5; count++) {
      answers.push(sendHttp(stack.url, { path: CHAT, body: padded, headers }));
      await eventually(() => stack.gateway.live.size === count);
    }
    assert.equal(bodyMemory.isScarce(), false);
    stack.simulator.simulator.gate("padded").resolve();
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200, answer.text);
  });

  test("is free of what was read into an order, while the answer is waited for", async () => {
    const { key } = await stack.account(100 * USD);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    // One for all, and not on the heap.
    const body = Buffer.from(JSON.stringify(bodyOf("[[gate=read]]", { metadata: { padding: "x".repeat(4 * MIB) } })));
    const before = bytesInUse();
    const answers: Promise<WireAnswer>[] = [];
    for (let count = 1; count <= 8; count++) {
      answers.push(sendHttp(stack.url, { path: CHAT, body, headers }));
      await eventually(() => stack.gateway.live.size === count);
    }
    const grown = bytesInUse() - before;
    stack.simulator.simulator.gate("read").resolve();
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200, answer.text);
    assert.ok(grown < 16 * MIB, `${Math.round(grown / MIB)} MiB are kept of 32`);
  });

  test("is all given back", async () => {
    await eventually(() => stack.gateway.live.size === 0);
    // All that large bodies may have, to the byte.
    for (let sender = 1; sender <= 7; sender++) {
      stack.gateway.bodyMemory.open().take(32 * MIB, { name: `sender ${sender}`, hasCredential: true });
    }
  });
});

describe("the turns at a model", () => {
  const queue = { atOnce: 1, waiting: 8, waitMs: 20_000 };

  test("are not waited for by clients that cannot pay", async () => {
    await using stack = await startStack({ operator: { queue } });
    const [first, second] = [await stack.account(USD), await stack.account(USD)];
    const busy = ask(stack, first, bodyOf("[[delay=1500]]"));
    await eventually(() => stack.gateway.live.size === 1);
    const free = await Promise.all(Array.from({ length: 9 }, () => freeSession(stack)));
    const refused = await Promise.all(free.map((session) => ask(stack, session, bodyOf("hello"))));
    for (const answer of refused) assertError(answer, 402, "capacity_exhausted");
    const [empty, limited] = [await stack.account(0), await stack.account(USD, { window: "day", limitNanoUsd: 1 })];
    assertError(await ask(stack, empty, bodyOf("hello")), 402, "insufficient_balance");
    assertError(await ask(stack, limited, bodyOf("hello")), 402, "key_limit_exceeded");
    const next = ask(stack, second, bodyOf("hello"));
    await eventually(() => stack.gateway.queue.waiting() === 1);
    assert.deepEqual([(await busy).status, (await next).status], [200, 200]);
  });

  test("do not pass while the chain is asked for a session's capacity", async () => {
    let answer: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let isAsked = false;
    const capacityToday = async () => {
      isAsked = true;
      await asked;
      return { capacityNanoUsd: USD, at: Date.now() };
    };
    const stack = await startStack({ operator: { queue }, chain: { capacityToday } });
    try {
      const [session, account] = [await freeSession(stack), await stack.account(USD)];
      const slow = ask(stack, session, bodyOf("hello"));
      await eventually(() => isAsked);
      assert.equal((await ask(stack, account, bodyOf("hello"))).status, 200);
      answer?.();
      assert.equal((await slow).status, 200);
    } finally {
      answer?.();
      await stack.stop();
    }
  });
});

describe("the operator's node", () => {
  const operator = { addressHeader: "x-forwarded-for" };
  const from = (stack: Stack, address: string, body: object): Promise<WireAnswer> =>
    sendHttp(stack.url, {
      path: "/auth",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "x-forwarded-for": address },
    });
  const messageOf = (address: Address, nonce: string): string =>
    formatSiweMessage({
      domain: "gateway.test",
      address,
      uri: "http://gateway.test",
      version: "1",
      chainId: 31_337,
      nonce,
      issuedAt: Date.now(),
      resources: [],
    });

  test("is asked about two signatures of one address at a time, and the other addresses have the rest", async () => {
    let asked = 0;
    const ends: (() => void)[] = [];
    const acceptsSignature = () => {
      asked += 1;
      return new Promise<boolean>((resolve) => ends.push(() => resolve(false)));
    };
    const stack = await startStack({ operator, chain: { acceptsSignature } });
    try {
      const wallet = privateKeyToAccount(generatePrivateKey());
      const body = { message: messageOf(wallet.address, "contractsNonce1"), signature: `0x${"11".repeat(65)}` };
      const all = [from(stack, "203.0.113.1", body), from(stack, "203.0.113.1", body)];
      await eventually(() => asked === 2);
      for (let left = 5; left > 0; left--) {
        assertError(await from(stack, "203.0.113.1", body), 503, "overloaded");
      }
      for (let client = 2; client <= 4; client++) {
        all.push(from(stack, `203.0.113.${client}`, body), from(stack, `203.0.113.${client}`, body));
      }
      await eventually(() => asked === 8);
      assertError(await from(stack, "203.0.113.9", body), 503, "overloaded");
      // A wallet's own key needs no chain.
      const message = messageOf(wallet.address, "walletsNonce1");
      const signed = await from(stack, "203.0.113.1", { message, signature: await wallet.signMessage({ message }) });
      assert.equal(signed.status, 200, signed.text);
      for (const end of ends) end();
      for (const answer of await Promise.all(all)) assertError(answer, 401, "invalid_signature");
    } finally {
      for (const end of ends) end();
      await stack.stop();
    }
  });

  test("is asked for capacities while every sign-in that it is asked about hangs", async () => {
    let asked = 0;
    const ends: (() => void)[] = [];
    const agentOwner = () => {
      asked += 1;
      return new Promise<null>((resolve) => ends.push(() => resolve(null)));
    };
    const capacityToday = async () => ({ capacityNanoUsd: USD, at: Date.now() });
    const stack = await startStack({ operator, chain: { agentOwner, capacityToday } });
    try {
      const wallet = privateKeyToAccount(generatePrivateKey());
      const signIn = async (number: number, client: number): Promise<WireAnswer> => {
        const message = messageOf(wallet.address, `agentsNonce${number}`);
        const agentToken = `0x${number.toString(16).padStart(40, "a")}`;
        const signature = await wallet.signMessage({ message });
        return from(stack, `203.0.113.${client}`, { message, signature, agentToken });
      };
      // From one address each, so that no address is what is short.
      const hanging = Array.from({ length: 64 }, (_, number) => signIn(number, number + 1));
      await eventually(() => asked >= 8);
      assertError(await Promise.race(hanging), 503, "overloaded");
      assert.equal((await ask(stack, await freeSession(stack), bodyOf("hello"))).status, 200);
      assert.equal(asked, 8);
    } finally {
      for (const end of ends) end();
      await stack.stop();
    }
  });
});

describe("the questions about sessions", () => {
  const look = (stack: Stack, { key }: { key: string }, address: string): Promise<WireAnswer> => {
    const headers = { authorization: `Bearer ${key}`, "x-forwarded-for": address };
    return sendHttp(stack.url, { method: "GET", path: "/api/v1/key", headers });
  };

  test("of one address are 16 at a time, and the other addresses have the rest", async () => {
    let asked = 0;
    const ends: (() => void)[] = [];
    const capacityToday = () => {
      asked += 1;
      const answer = { capacityNanoUsd: USD, at: Date.now() };
      return new Promise<typeof answer>((resolve) => ends.push(() => resolve(answer)));
    };
    const stack = await startStack({ operator: { addressHeader: "x-forwarded-for" }, chain: { capacityToday } });
    try {
      const lookAnew = async (client: number) => look(stack, await freeSession(stack), `203.0.113.${client}`);
      for (let client = 1; client <= 4; client++) {
        for (let left = 16; left > 0; left--) void lookAnew(client);
        await eventually(() => asked === 16 * client);
        const refused = await Promise.race([lookAnew(client), sleep(2_000)]);
        assertError(refused ?? assert.fail("one more was asked"), 503, "overloaded");
      }
      assertError(await lookAnew(5), 503, "overloaded");
      for (const end of ends.splice(0)) end();
      const last = lookAnew(1);
      await eventually(() => asked === 65);
      for (const end of ends) end();
      assert.equal((await last).status, 200);
    } finally {
      for (const end of ends) end();
      await stack.stop();
    }
  });

  test("are not asked again for who only looks, for ten minutes of one day; who spends asks once a minute", async () => {
    let [now, asked] = [Date.UTC(2026, 10, 21, 12), 0];
    const capacityToday = async () => {
      asked += 1;
      return { capacityNanoUsd: USD, at: now };
    };
    await using stack = await startStack({ now: () => now, chain: { capacityToday } });
    const session = await freeSession(stack);
    for (const [passedMs, asks] of [
      [0, 1],
      [9 * 60_000, 1],
      [60_000 - 1, 1],
      [1, 2],
    ] as const) {
      now += passedMs;
      assert.equal((await look(stack, session, "")).status, 200);
      assert.equal(asked, asks, `after ${passedMs} ms more`);
    }
    now += 60_000;
    await stack.gateway.prices.refresh();
    assert.equal((await look(stack, session, "")).status, 200);
    assert.equal(asked, 2);
    assert.equal((await ask(stack, session, bodyOf("hello"))).status, 200);
    assert.equal(asked, 3);
  });
});

describe("a provider that fails", () => {
  const stack = hostFor(() => startStack({ operator: { breaker: { failures: 3, openMs: 5_000 } } }));
  before(async () => {
    stack.simulator.simulator.change({ errorBudget: null });
  });

  async function failing(faults: readonly string[], account?: TestAccount): Promise<void> {
    for (const fault of faults) {
      const { status } = await ask(stack, account ?? (await stack.account(USD)), bodyOf(`[[fault=${fault}]]`));
      assert.ok(status >= 400, String(status));
    }
  }

  test("for one account's requests is asked for everybody else's", async () => {
    const faults = ["503", "504", "502", "reset-before-headers", "fin-before-headers", "503-offline"];
    await failing(faults, await stack.account(USD));
    assert.equal((await ask(stack, await stack.account(USD), bodyOf("hello"))).status, 200);
  });

  test("is asked however many requests it refused: they are their clients' own", async () => {
    await failing(["400-schema", "400-provider", "404", "413", "422", "500", "429"]);
    assert.equal((await ask(stack, await stack.account(USD), bodyOf("hello"))).status, 200);
  });

  test("for one account's after another's is left alone", async () => {
    await failing(["503", "reset-before-headers", "504"]);
    assertError(await ask(stack, await stack.account(USD), bodyOf("hello")), 503, "upstream_unavailable");
  });
});
