import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { HostBindings } from "@inference/gateway/http/context";
import { eventually } from "@inference/protocol/testing/eventually";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { listen } from "./listen.ts";
import { endMalformed } from "./malformed.ts";
import { watchResponses } from "./responses.ts";
import { bytesInUse } from "./testing/heap.ts";

const MIB = 1024 * 1024;
const STALLED_READER_MS = 1_000;
/** Their bodies are five times the memory that may be left. */
const UNREAD = 32;

type Served = { url: string; close(): Promise<void> };
const servers: Served[] = [];
const sockets: Socket[] = [];
after(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => server.close()));
});

async function serve(fetch: (request: Request, host?: HostBindings) => Promise<Response>): Promise<Served> {
  const server = await listen({ fetch }, { HOST: "127.0.0.1", PORT: 0, STALLED_READER_MS });
  servers.push(server);
  return server;
}

/** A client that reads nothing until it is told to. */
async function open({ url }: { url: string }, path: string, version = "1.1"): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
  sockets.push(socket.on("error", () => undefined));
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/${version}\r\nhost: gateway\r\n\r\n`);
  return socket;
}

/** Counts responses under way, whose bodies are as large as their paths say. */
function countUnderWay(makeBody: (bytes: number) => BodyInit) {
  const counts = { underWay: 0, begun: 0 };
  const fetch = async ({ url }: Request, host?: HostBindings): Promise<Response> => {
    counts.underWay += 1;
    counts.begun += 1;
    host?.whenSent?.(() => {
      counts.underWay -= 1;
    });
    return new Response(makeBody(Number(new URL(url).pathname.slice(1))));
  };
  return { counts, fetch };
}

function inPieces(bytes: number): ReadableStream {
  let left = bytes;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(Math.min(left, 65_536)));
      left -= 65_536;
      if (left <= 0) controller.close();
    },
  });
}

for (const [name, makeBody] of [
  ["whole", (bytes: number) => new Uint8Array(bytes).fill(1)],
  ["streamed", inPieces],
] as const) {
  test(`${UNREAD} unread responses are gone after the limit, memory too: ${name}`, async () => {
    const { counts, fetch } = countUnderWay(makeBody);
    const server = await serve(fetch);
    const before = bytesInUse({ outside: true });
    const clients = await Promise.all(Array.from({ length: UNREAD }, () => open(server, `/${8 * MIB}`)));
    await eventually(() => counts.begun === UNREAD);
    await eventually(() => counts.underWay === 0);
    await eventually(() => bytesInUse({ outside: true }) - before < 50 * MIB);
    for (const client of clients) client.destroy();
  });
}

test("a reader that stands still is reset: the operating system keeps nothing for it", async () => {
  const { counts, fetch } = countUnderWay((bytes) => new Uint8Array(bytes));
  const client = await open(await serve(fetch), `/${64 * MIB}`);
  await eventually(() => counts.begun === 1);
  await eventually(() => counts.underWay === 0);
  client.resume();
  const [error] = await once(client, "error");
  assert.equal(error.code, "ECONNRESET");
});

test("a reader that takes a few bytes now and then is as one that takes none", async () => {
  const { counts, fetch } = countUnderWay((bytes) => new Uint8Array(bytes));
  const client = await open(await serve(fetch), `/${16 * MIB}`);
  const trickle = setInterval(() => client.read(1), 50).unref();
  await eventually(() => counts.begun === 1);
  await eventually(() => counts.underWay === 0);
  clearInterval(trickle);
});

test("a reader that is slow, but takes enough, is served to the last byte of an answer that is one chunk", async () => {
  const bytes = 24 * MIB;
  const { counts, fetch } = countUnderWay(() => new Uint8Array(bytes));
  const client = await open(await serve(fetch), "/");
  let received = 0;
  client.on("data", (data: Buffer) => {
    received += data.length;
    client.pause();
    // 24 MiB in 3 s and more: three times the limit.
    if (received % MIB < data.length) setTimeout(() => client.resume(), 125);
    else client.resume();
  });
  await eventually(() => received > bytes);
  await eventually(() => counts.underWay === 0);
});

test("a connection that we have ended, and its client has not, is closed after the limit", async () => {
  const server = createServer();
  watchResponses(server, { stalledReaderMs: STALLED_READER_MS, slowestReaderBytesPerS: 1 });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => endMalformed(error, socket));
  const local = await listenLocally(server);
  servers.push(local);
  const client = await open(local, "/\0");
  client.resume();
  await once(client, "end");
  const count = () => new Promise((done) => server.getConnections((_, connections) => done(connections)));
  assert.equal(await count(), 1);
  await eventually(async () => (await count()) === 0);
});

/** Answers after so many milliseconds; says for how many requests the client has gone. */
function answerLate(ms: number) {
  const counts = { begun: 0, gone: 0 };
  const fetch = async ({ signal }: Request): Promise<Response> => {
    counts.begun += 1;
    signal.addEventListener("abort", () => {
      counts.gone += 1;
    });
    await sleep(ms);
    return new Response("the answer");
  };
  return { counts, fetch };
}

test("a client that ends its side after a request gets the whole answer", async () => {
  const { counts, fetch } = answerLate(700);
  const client = await open(await serve(fetch), "/");
  let text = "";
  client.setEncoding("utf8").on("data", (data) => {
    text += data;
  });
  client.end();
  await once(client, "end", { signal: AbortSignal.timeout(5_000) });
  assert.match(text, /HTTP\/1.1 200 OK[\s\S]*\r\n\r\nthe answer$/);
  assert.doesNotMatch(text.replaceAll("HTTP/1.1 102 Processing\r\n\r\n", ""), /102/);
  assert.equal(counts.gone, 0);
});

test("a client that ends its side before a streamed answer begins gets all of it; in the middle of one it has left", async () => {
  let gone = 0;
  const server = await serve(async ({ signal }) => {
    signal.addEventListener("abort", () => {
      gone += 1;
    });
    await sleep(100);
    const body = new ReadableStream({
      async start(controller) {
        for (const word of ["one", "two", "three"]) {
          controller.enqueue(new TextEncoder().encode(word));
          await sleep(200);
        }
        if (!signal.aborted) controller.close();
      },
    });
    return new Response(body);
  });
  const texts = await Promise.all(
    [true, false].map(async (before) => {
      const client = await open(server, "/");
      let text = "";
      client.setEncoding("utf8").on("data", (data) => {
        text += data;
      });
      if (!before) await eventually(() => text.includes("one"));
      client.end();
      await once(client, "end", { signal: AbortSignal.timeout(5_000) });
      return text;
    }),
  );
  assert.match(texts[0] ?? "", /one[\s\S]*two[\s\S]*three[\s\S]*0\r\n\r\n$/);
  assert.doesNotMatch(texts[1] ?? "", /three/);
  assert.equal(gone, 1);
});

for (const how of ["an end", "a reset"] as const) {
  test(`who has left by ${how} before the answer is noticed within half a second`, async () => {
    const { counts, fetch } = answerLate(2_000);
    const client = await open(await serve(fetch), "/");
    await eventually(() => counts.begun === 1);
    if (how === "an end") client.destroy();
    else client.resetAndDestroy();
    await eventually(() => counts.gone === 1);
  });
}

test("HTTP/1.0 has no informational responses: a client that ends its side has left", async () => {
  const { counts, fetch } = answerLate(2_000);
  const client = await open(await serve(fetch), "/", "1.0");
  await eventually(() => counts.begun === 1);
  client.end();
  await eventually(() => counts.gone === 1);
});

test("requests that wait behind another one on their connection never begin when their client leaves", async () => {
  const { counts, fetch } = answerLate(1_000);
  const server = await serve(fetch);
  const client = await open(server, "/");
  for (let more = 0; more < 4; more += 1) client.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await eventually(() => counts.begun === 1);
  await sleep(100);
  client.resetAndDestroy();
  await eventually(() => counts.gone === 1);
  await server.close();
  assert.equal(counts.begun, 1);
});

test("a client that leaves two requests on one connection does not make a stop cut off the answers of others", async () => {
  const { counts, fetch } = answerLate(700);
  const server = await serve(fetch);
  const leaving = await open(server, "/");
  leaving.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await eventually(() => counts.begun === 1);
  leaving.resetAndDestroy();
  await eventually(() => counts.gone === 1);
  const staying = await open(server, "/");
  let text = "";
  staying.setEncoding("utf8").on("data", (data) => {
    text += data;
  });
  await eventually(() => counts.begun === 2);
  await server.close();
  await eventually(() => text.endsWith("the answer"));
});
