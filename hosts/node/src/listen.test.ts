import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { HostBindings } from "@inference/gateway/http/context";
import { SettingsError } from "@inference/gateway/settings";
import { sendHttp } from "@inference/gateway/test/http-client";
import { eventually } from "@inference/protocol/testing/eventually";
import { listen } from "./listen.ts";

const here = { HOST: "127.0.0.1", PORT: 0, STALLED_READER_MS: 30_000 };
const app = {
  fetch: async (request: Request) => sleep(Number(new URL(request.url).searchParams.get("ms")), new Response("done")),
};

function open(url: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => resolve(socket));
    socket.on("error", () => undefined);
  });
}

test("a stop waits for an answer in flight, and for nothing else", async () => {
  const server = await listen(app, here);
  const unused = await open(server.url);
  const halfway = await open(server.url);
  halfway.write("GET / HTTP/1.1\r\nhost: gate");
  const idle = await open(server.url);
  idle.write("GET /?ms=0 HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await new Promise((resolve) => idle.once("data", resolve));
  const answer = sendHttp(server.url, { path: "/?ms=300" });
  await sleep(100);
  await server.close();
  assert.equal((await answer).text, "done");
  for (const socket of [unused, halfway, idle]) socket.destroy();
});

test("a stop without answers in flight waits for no connection", async () => {
  const server = await listen(app, here);
  const unused = await open(server.url);
  await server.close();
  unused.destroy();
});

test("a port that is taken is one line that says what to do", async () => {
  const server = await listen(app, here);
  const PORT = Number(new URL(server.url).port);
  const taken = (error: unknown): boolean =>
    error instanceof SettingsError &&
    error.message === `Port ${PORT} is in use: set another PORT, or stop what uses it.`;
  await assert.rejects(listen(app, { ...here, PORT }), taken);
  await server.close();
});

test("garbage behind a request whose answer is under way cuts the connection, and adds no byte to the answer", async () => {
  const slow = {
    fetch: async () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode("first"));
            await sleep(300);
            controller.close();
          },
        }),
      ),
  };
  const server = await listen(slow, here);
  const socket = await open(server.url);
  let text = "";
  socket.on("data", (data: Buffer) => {
    text += data.toString();
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await eventually(() => text.includes("first"));
  socket.write("\0garbage\r\n\r\n");
  await closed;
  assert.match(text, /first/);
  assert.doesNotMatch(text, /400|invalid_request/);
  await server.close();
});

test("an unknown expectation changes nothing", async () => {
  const server = await listen(app, here);
  const socket = await open(server.url);
  const answer = new Promise<string>((resolve) => socket.once("data", (data: Buffer) => resolve(data.toString())));
  socket.write("GET /?ms=0 HTTP/1.1\r\nhost: gateway\r\nexpect: wonders\r\n\r\n");
  assert.match(await answer, /^HTTP\/1.1 200 /);
  socket.destroy();
  await server.close();
});

/** An app that counts the requests that have begun: in total, and at most in one turn of the event loop. */
function countBegun(answer: (host: HostBindings | undefined) => Promise<Response>) {
  const counts = { begun: 0, now: 0, most: 0 };
  const fetch = (_: Request, host?: HostBindings): Promise<Response> => {
    counts.begun += 1;
    if (counts.now === 0) setImmediate(() => (counts.now = 0));
    counts.now += 1;
    counts.most = Math.max(counts.most, counts.now);
    return answer(host);
  };
  return { counts, fetch };
}

test("a few of the requests that come at once begin in each turn of the event loop, and all are answered", async () => {
  const { counts, fetch } = countBegun(async () => new Response("ok"));
  const server = await listen({ fetch }, here);
  const sockets = await Promise.all(Array.from({ length: 200 }, () => open(server.url)));
  let answers = 0;
  for (const socket of sockets) socket.on("data", () => (answers += 1));
  // The second time all connections are accepted.
  for (const round of [1, 2]) {
    counts.most = 0;
    for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
    await eventually(() => answers === round * sockets.length);
  }
  assert.ok(counts.most <= 32, `${counts.most} began in one turn`);
  assert.ok(counts.most > 1, "they came one by one");
  for (const socket of sockets) socket.destroy();
  await server.close();
});

test("a request whose client leaves while it waits for its turn does not begin", async () => {
  const sockets: Socket[] = [];
  const { counts, fetch } = countBegun(async () => {
    for (const socket of sockets) socket.resetAndDestroy();
    return new Response("ok");
  });
  const server = await listen({ fetch }, here);
  for (let left = 200; left > 0; left -= 1) sockets.push(await open(server.url));
  for (const socket of sockets) socket.on("error", () => undefined).write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await eventually(() => counts.begun > 0);
  await sleep(200);
  // Those that began before the server could know.
  assert.ok(counts.begun <= 3 * 32, `${counts.begun} began`);
  await server.close();
});

test("the time that a request waits for its turn is told to the app", async () => {
  let waits: number[] = [];
  const { fetch } = countBegun(async (host) => {
    waits.push(host?.waitedMs ?? Number.NaN);
    const until = performance.now() + 1;
    while (performance.now() < until);
    return new Response("ok");
  });
  const server = await listen({ fetch }, here);
  const sockets = await Promise.all(Array.from({ length: 200 }, () => open(server.url)));
  // The second time all connections are accepted, and the requests come at once.
  for (const _ of [1, 2]) {
    waits = [];
    for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
    await eventually(() => waits.length === sockets.length);
  }
  for (const socket of sockets) socket.destroy();
  await server.close();
  assert.ok(Math.min(...waits) >= 0, `${Math.min(...waits)} ms`);
  assert.ok(Math.max(...waits) > 32, `${Math.max(...waits)} ms`);
});

test("requests behind another one on their connection begin one after the other, and are answered in their order", async () => {
  let now = 0;
  let most = 0;
  const fetch = async (request: Request): Promise<Response> => {
    now += 1;
    most = Math.max(most, now);
    await sleep(5);
    now -= 1;
    return new Response(`answer to ${new URL(request.url).pathname};`);
  };
  const server = await listen({ fetch }, here);
  const socket = await open(server.url);
  let received = "";
  socket.on("data", (data: Buffer) => (received += data.toString()));
  const names = Array.from({ length: 33 }, (_, index) => `/${index}`);
  socket.write(names.map((name) => `GET ${name} HTTP/1.1\r\nhost: gateway\r\n\r\n`).join(""));
  await eventually(() => received.includes("answer to /32;"));
  assert.deepEqual(
    [...received.matchAll(/answer to (\/\d+);/g)].map(([, name]) => name),
    names,
  );
  assert.equal(most, 1);
  socket.destroy();
  await server.close();
});

test("a connection with too many requests behind one another is closed, and others do not wait for it", async () => {
  const { counts, fetch } = countBegun(async () => {
    await sleep(20);
    return new Response("ok");
  });
  const server = await listen({ fetch }, here);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(server.url)));
  const closed = Promise.all(
    sockets.map(
      (socket) =>
        new Promise((resolve) =>
          socket
            .on("error", () => undefined)
            .resume()
            .on("close", resolve),
        ),
    ),
  );
  for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n".repeat(800));
  await closed;
  assert.ok(counts.begun <= sockets.length, `${counts.begun} began`);
  await server.close();
});

/** An app that answers with so many bytes, and counts how often it was told that they were sent. */
function countSent(bytes: number) {
  const counts = { asked: 0, sent: 0 };
  const fetch = async (_: Request, host?: HostBindings): Promise<Response> => {
    host?.whenSent?.(() => {
      counts.sent += 1;
    });
    counts.asked += 1;
    return new Response(new Uint8Array(bytes));
  };
  return { counts, fetch };
}

test("a response is reported as sent once: after its last byte, and not while its client reads nothing", async () => {
  const bytes = 16 * 1024 * 1024;
  const { counts, fetch } = countSent(bytes);
  const server = await listen({ fetch }, here);
  const socket = await open(server.url);
  socket.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await sleep(300);
  assert.deepEqual(counts, { asked: 1, sent: 0 });
  let received = 0;
  socket.on("data", (data: Buffer) => {
    received += data.length;
  });
  await eventually(() => counts.sent > 0);
  socket.destroy();
  await server.close();
  assert.deepEqual(counts, { asked: 1, sent: 1 });
  assert.ok(received > bytes / 2, `${received} bytes had been read`);
});

test("a response whose client leaves, before or while it is sent, is reported as sent once", async () => {
  const { counts, fetch } = countSent(16 * 1024 * 1024);
  let release: (() => void) | undefined;
  const server = await listen(
    {
      async fetch(request, host) {
        if (new URL(request.url).pathname === "/late") await new Promise<void>((resolve) => (release = resolve));
        return fetch(request, host);
      },
    },
    here,
  );
  const leaving = await open(server.url);
  leaving.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await new Promise((resolve) => leaving.once("data", resolve));
  leaving.resetAndDestroy();
  await eventually(() => counts.sent > 0);
  assert.deepEqual(counts, { asked: 1, sent: 1 });
  const gone = await open(server.url);
  gone.write("GET /late HTTP/1.1\r\nhost: gateway\r\n\r\n");
  await eventually(() => release !== undefined);
  gone.resetAndDestroy();
  await sleep(100);
  release?.();
  await eventually(() => counts.sent > 1);
  assert.deepEqual(counts, { asked: 2, sent: 2 });
  await server.close();
});
