import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Account, openAccount, readKey, readReceipts, readSite, signed, spentBy } from "./account.ts";
import { checkExchange, eventsOf } from "./exchange.ts";
import { codeOf, sendRaw } from "./raw.ts";
import { openTarget, type Target } from "./target.ts";
import { makeWire } from "./wire.ts";

/** Faults between a client and the gateway that no single request shows. */
let target: Target;
let account: Account;
let session: string;
before(async () => {
  target = await openTarget();
  account = await openAccount(target, 4);
  session = await account.signIn();
});
after(() => target?.close());

describe("what happens to a key while a stream of it runs", () => {
  const changes = {
    "it is revoked": { method: "DELETE", next: "invalid_api_key" },
    "it is disabled": { method: "PATCH", body: { disabled: true }, next: "key_disabled" },
    "its limit is lowered to nothing": { method: "PATCH", body: { limit: "0" }, next: "key_limit_exceeded" },
  };
  for (const [name, { method, next, ...change }] of Object.entries(changes)) {
    test(`${name}: the stream comes whole and is paid, and the next request is ${next}`, async () => {
      const { key, id } = await account.makeKey("limit=1.00");
      const wire = makeWire();
      const response = await wire.fetch(`${target.url}/v1/chat/completions`, {
        method: "POST",
        headers: headersFor(key),
        body: chatBody("[[tokens=30]][[drip=10]]", { stream: true }),
      });
      const path = `/api/v1/keys/${id}`;
      const body = "body" in change ? { body: JSON.stringify(change.body) } : {};
      const changed = await sendRaw(target.url, { method, path, headers: headersFor(session), ...body });
      assert.equal(changed.status, 200, Buffer.from(changed.body).toString());
      await response.text();
      const [exchange] = wire.exchanges;
      assert.ok(exchange !== undefined);
      checkExchange(exchange, target);
      assert.equal(eventsOf(exchange.body).at(-1), "[DONE]");
      const refused = await sendRaw(target.url, {
        method: "POST",
        path: "/v1/chat/completions",
        headers: headersFor(key),
        body: chatBody(""),
      });
      checkExchange(refused, target);
      assert.equal(codeOf(refused), next);
      const charge = await chargeOf(response.headers.get("x-request-id") ?? "");
      assert.ok(charge >= 30 * SMALL_TOKEN_NANO_USD, `${charge} for 30 tokens`);
    });
  }
});

describe("clients that leave, or never come to the point", () => {
  const rounds = process.env.DEEP === "1" ? 50 : 3;
  test(`${20 * rounds} requests that are cut within a second leave nothing held, and others are served`, async () => {
    const { key } = await account.makeKey();
    const left: Promise<unknown>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      left.push(...Array.from({ length: 20 }, (_, index) => cutAfter(key, (round + index) % 20)));
      await sleep(10);
    }
    await Promise.all(left);
    const { key: other } = await (await openAccount(target, 5)).makeKey();
    await assertServed(other);
    // Waits until the requests of the client that left are paid.
    await spentBy(target, key);
    await assertServed(key);
  });

  for (const stream of [true, false]) {
    test(`who ends their side gets an end, and a receipt for what was made by then; stream: ${stream}`, async () => {
      const { key } = await account.makeKey();
      const socket = await openSocket();
      const read = readAll(socket);
      socket.write(requestBytes(key, `[[tokens=40]]${stream ? "[[drip=50]]" : "[[delay=2000]]"}`, { stream }));
      await eventually(async () => {
        const hasBegun = stream ? tokensIn(read()) >= 4 : (await readKey(target, key)).reserved_nano_usd > 0;
        return hasBegun;
      });
      const made = tokensIn(read());
      // Some hosts notice it and cut the answer off. Others go on to its end, two seconds later.
      const ended = once(socket, "end", { signal: AbortSignal.timeout(HALF_CLOSED_MS) });
      socket.end();
      await ended;
      const charge = await spentBy(target, key);
      const [receipt, ...others] = await readReceipts(target, key);
      assert.deepEqual([receipt?.outcome, receipt?.charge_nano_usd, others], ["settled", charge, []]);
      assert.ok(charge > made * SMALL_TOKEN_NANO_USD, `${charge} for a prompt and ${made} tokens`);
      assert.ok(charge <= (receipt?.held_nano_usd ?? 0), `${charge} of ${receipt?.held_nano_usd}`);
      await assertServed(key);
    });
  }

  test("500 connections that trickle keep nobody waiting", async () => {
    const { key } = await account.makeKey();
    const sockets = await Promise.all(Array.from({ length: 500 }, () => openSocket()));
    for (const [index, socket] of sockets.entries()) {
      const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: a";
      const rest = `\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{`;
      socket.write(index % 2 === 0 ? head : head + rest);
    }
    for (let times = 0; times < 5; times += 1) {
      for (const socket of sockets) socket.write(" ");
      await assertServed(key);
      // A request that waited for them would wait until their bodies are given up, and they are answered.
      assert.ok(sockets.every(({ bytesRead }) => bytesRead === 0));
    }
    for (const socket of sockets) socket.destroy();
    await spentBy(target, key);
  });
});

describe("what is sent again", () => {
  test("50 concurrent replays of a signed message open one session", async () => {
    const body = JSON.stringify(await signed(await readSite(target), target.wallets[2] ?? "0x", {}));
    const headers = { "content-type": "application/json" };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => sendRaw(target.url, { method: "POST", path: "/auth", headers, body })),
    );
    for (const answer of answers) checkExchange(answer, target);
    const outcomes = answers.map((answer) => `${answer.status} ${codeOf(answer)}`).sort();
    assert.deepEqual(outcomes, ["200 undefined", ...Array(49).fill("401 siwe_nonce_used")]);
  });

  test("a request with its Idempotency-Key has the same answer, and another body is refused", async () => {
    const { key } = await account.makeKey();
    const headers = { ...headersFor(key), "idempotency-key": `again-${Date.now()}` };
    const ask = (markers: string) =>
      sendRaw(target.url, { method: "POST", path: "/v1/chat/completions", headers, body: chatBody(markers) });
    const [first, again, other] = [await ask(""), await ask(""), await ask("[[tokens=1]]")];
    for (const answer of [first, again, other]) checkExchange(answer, target);
    assert.deepEqual([first.status, again.headers.get("idempotent-replayed")], [200, "true"]);
    assert.deepEqual(again.body, first.body);
    assert.deepEqual([other.status, codeOf(other)], [422, "idempotency_mismatch"]);
    assert.equal((await readReceipts(target, key)).length, 1);
  });
});

const SMALL_TOKEN_NANO_USD = 600;
const HALF_CLOSED_MS = 10_000;

function chatBody(markers: string, more: object = {}): string {
  const messages = [{ role: "user", content: `A word on harbours. ${markers}` }];
  return JSON.stringify({ model: "sim-small", max_tokens: 50, messages, ...more });
}

function headersFor(credential: string): Record<string, string> {
  return { authorization: `Bearer ${credential}`, "content-type": "application/json" };
}

/** As the wallet's session reads it, once there is a receipt: a revoked key tells nothing of itself any more. */
async function chargeOf(id: string): Promise<number> {
  const path = `/api/v1/generation?id=${id}`;
  return eventually(async () => {
    const { body } = await sendRaw(target.url, { method: "GET", path, headers: headersFor(session) });
    const { data } = JSON.parse(Buffer.from(body).toString()) as { data?: { charge_nano_usd: number } };
    return data?.charge_nano_usd ?? false;
  });
}

/** Reads the bytes that have come up to now. */
function readAll(socket: Socket): () => string {
  let text = "";
  socket.on("data", (data: Buffer) => {
    text += data.toString("latin1");
  });
  return () => text;
}

function tokensIn(text: string): number {
  return [...text.matchAll(/"delta":\{"content":"./g)].length;
}

async function assertServed(key: string): Promise<void> {
  const exchange = await sendRaw(target.url, {
    method: "POST",
    path: "/v1/chat/completions",
    headers: headersFor(key),
    body: chatBody("[[tokens=2]]"),
  });
  checkExchange(exchange, target);
  assert.equal(exchange.status, 200, Buffer.from(exchange.body).toString());
}

/** Sends a request for a stream, and resets the connection so many ms later. */
async function cutAfter(key: string, ms: number): Promise<void> {
  const socket = await openSocket();
  socket.write(requestBytes(key, "[[tokens=40]][[drip=2]]", { stream: true }));
  await sleep(ms);
  socket.resetAndDestroy();
}

function requestBytes(key: string, markers: string, more: object): string {
  const body = chatBody(markers, more);
  const lines = Object.entries({ host: "a", ...headersFor(key), "content-length": body.length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n${body}`;
}

function openSocket(): Promise<Socket> {
  const { hostname, port } = new URL(target.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true }, () => resolve(socket));
    socket.on("error", reject);
  });
}
