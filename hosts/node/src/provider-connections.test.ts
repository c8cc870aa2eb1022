import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { UpstreamResponse } from "@inference/gateway/environment";
import { eventually } from "@inference/protocol/testing/eventually";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import { openUpstream } from "./upstream.ts";

/** A provider that writes what it likes on its connections. */
const servers: LocalServer[] = [];
const sockets = new Set<Socket>();
const upstreams: { close(): Promise<void> }[] = [];

after(async () => {
  await Promise.all(upstreams.map((upstream) => upstream.close()));
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => server.close()));
});

/** The body of every request. */
const BODY = "{}";

/** @param answer Called with each request's path, once all of the request has come. */
async function open(answer: (socket: Socket, path: string) => void) {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).setNoDelay(true);
    let request = "";
    socket.on("data", (data: Buffer) => {
      request += data.toString();
      // Head and body may come apart.
      if (!request.endsWith(BODY)) return;
      const [, path = ""] = request.split(" ");
      request = "";
      answer(socket, path);
    });
  });
  const local = await listenLocally(server);
  servers.push(local);
  const { url } = local;
  const upstream = openUpstream(url);
  upstreams.push(upstream);
  const { signal } = new AbortController();
  const send = (path: string): Promise<UpstreamResponse> =>
    upstream.send({ method: "POST", url: `${url}${path}`, headers: {}, body: BODY, signal });
  return { send, connections: () => new Promise<number>((done) => server.getConnections((_, count) => done(count))) };
}

async function textOf(response: UpstreamResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const whole = (text: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";

/** Answers with these pieces, some milliseconds apart. */
async function writeApart(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await sleep(10);
  }
}

const informational: Record<string, readonly string[]> = {
  "100 Continue before it": [CONTINUE, whole("good")],
  "100 Continue in the same bytes": [CONTINUE + whole("good")],
  "two of them, with header fields": [`HTTP/1.1 100\r\na: b\r\n\r\n${CONTINUE}`, whole("good")],
  "one that comes in pieces": ["HTTP/1.", "1 100 Conti", "nue\r\n", "\r\nHTTP/1.1 2", whole("good").slice(10)],
  "103 Early Hints before it": [HINTS, whole("good")],
  "103 and 100 in the same bytes": [HINTS + CONTINUE + whole("good")],
  "102, 103 and 100": [`HTTP/1.1 102 Processing\r\n\r\n${HINTS}`, CONTINUE, whole("good")],
};

for (const [what, pieces] of Object.entries(informational)) {
  test(`an answer is read as it is in spite of informational ones: ${what}`, async () => {
    const { send } = await open((socket) => void writeApart(socket, pieces));
    for (const path of ["/first", "/second"]) {
      const response = await send(path);
      assert.deepEqual([response.status, await textOf(response)], [200, "good"]);
    }
  });
}

test("bytes like 100 Continue within an answer are a part of it", async () => {
  const { send } = await open((socket) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-length: ${4 + CONTINUE.length}\r\n\r\n`;
    void writeApart(socket, [head, "good", CONTINUE]);
  });
  assert.equal(await textOf(await send("/")), `good${CONTINUE}`);
});

for (const delayMs of [0, 1, 3, 8]) {
  test(`a second answer that comes ${delayMs} ms after the first one is discarded`, async () => {
    const { send } = await open((socket, path) => {
      socket.write(whole(path));
      const stray = (): boolean => socket.write(whole("stray"));
      if (delayMs === 0) stray();
      else setTimeout(stray, delayMs);
    });
    for (let tries = 0; tries < 40; tries += 1) {
      assert.equal(await textOf(await send(`/${tries}`)), `/${tries}`);
      await sleep(tries % 5);
    }
  });
}

for (const [name, stray] of Object.entries({
  "an empty line": "\r\n",
  "one byte": "H",
  "a whole answer": whole("x"),
})) {
  test(`a connection on which ${name} came unasked is closed`, async () => {
    let first: Socket | undefined;
    const { send } = await open((socket, path) => {
      first ??= socket;
      socket.write(whole(path));
    });
    await textOf(await send("/1"));
    await sleep(40);
    assert.equal(first?.destroyed, false);
    const closed = once(first ?? assert.fail(), "close", { signal: AbortSignal.timeout(1_000) });
    first?.write(stray);
    await closed;
    assert.equal(await textOf(await send("/2")), "/2");
  });
}

test("a connection that has rested is used again", async () => {
  const { send, connections } = await open((socket, path) => socket.write(whole(path)));
  for (let times = 0; times < 5; times += 1) {
    assert.equal(await textOf(await send(`/${times}`)), `/${times}`);
    await sleep(60);
  }
  assert.equal(await connections(), 1);
});

test("1,200 requests at a time all reach the provider", async () => {
  let asked = 0;
  const waiting: Socket[] = [];
  const { send } = await open((socket) => {
    asked += 1;
    waiting.push(socket);
  });
  const answers = Array.from({ length: 1_200 }, async () => textOf(await send("/")));
  await eventually(() => assert.equal(asked, answers.length));
  for (const socket of waiting) socket.write(whole("done"));
  assert.ok((await Promise.all(answers)).every((text) => text === "done"));
});
