import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { UpstreamFailure, type UpstreamResponse } from "@inference/gateway/environment";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import { openUpstream } from "./upstream.ts";

const servers: LocalServer[] = [];
const upstreams: { close(): Promise<void> }[] = [];

after(async () => {
  await Promise.all(upstreams.map((upstream) => upstream.close()));
  await Promise.all(servers.map((server) => server.close()));
});

async function open(listener: RequestListener) {
  const server = await listenLocally(createServer(listener));
  servers.push(server);
  const { url } = server;
  const upstream = openUpstream(`${url}/api/v1`);
  upstreams.push(upstream);
  const send = (path = "/", signal = new AbortController().signal): Promise<UpstreamResponse> =>
    upstream.send({ method: "POST", url: `${url}${path}`, headers: {}, body: "{}", signal });
  return { send, upstream };
}

async function textOf(response: UpstreamResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function failsAt(stage: UpstreamFailure["stage"]): (error: unknown) => boolean {
  return (error) => error instanceof UpstreamFailure && error.stage === stage;
}

test("an answer's status, headers and body arrive as they were sent, and redirects are answers like any other", async () => {
  const { send } = await open((_, response) => {
    response.writeHead(307, { location: "http://127.0.0.1:9/", "x-one": "1" });
    response.write("first ");
    setTimeout(() => response.end("second"), 20);
  });
  const response = await send("/path?query=1");
  assert.equal(response.status, 307);
  assert.equal(response.header("x-one"), "1");
  assert.equal(response.header("X-One"), "1", "in whatever letters it is asked for");
  assert.equal(response.header("x-two"), null);
  assert.equal(await textOf(response), "first second");
});

test("a connection that was refused says that nothing was sent; one that was reset says that it was", async () => {
  const refused = openUpstream("http://127.0.0.1:9");
  upstreams.push(refused);
  const signal = new AbortController().signal;
  const request = { method: "POST", url: "http://127.0.0.1:9/x", headers: {}, body: "{}", signal } as const;
  await assert.rejects(refused.send(request), failsAt("not_sent"));
  const { send } = await open((incoming) => incoming.socket.destroy());
  await assert.rejects(send(), failsAt("sent"));
});

test("a body that breaks off fails where it is read, after what had come", async () => {
  const { send } = await open((_, response) => {
    response.write("half");
    setTimeout(() => response.destroy(), 20);
  });
  const response = await send();
  const chunks: string[] = [];
  const read = async (): Promise<void> => {
    for await (const chunk of response.body) chunks.push(Buffer.from(chunk).toString());
  };
  await assert.rejects(read(), failsAt("body"));
  assert.deepEqual(chunks, ["half"]);
});

test("an abort ends a request before its headers, and a body in the middle; one that came first sends nothing", async () => {
  let requests = 0;
  const { send } = await open((incoming, response) => {
    requests += 1;
    if (incoming.url === "/body") response.write("half");
  });
  const waiting = new AbortController();
  setTimeout(() => waiting.abort(), 20);
  await assert.rejects(send("/headers", waiting.signal), failsAt("sent"));
  const reading = new AbortController();
  const response = await send("/body", reading.signal);
  setTimeout(() => reading.abort(), 20);
  await assert.rejects(textOf(response), failsAt("body"));
  assert.equal(requests, 2);
  await assert.rejects(send("/never", AbortSignal.abort()), failsAt("not_sent"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(requests, 2);
});

for (const [what, end] of Object.entries({
  "is reset while it is made": (socket: Socket) => socket.resetAndDestroy(),
  "does not come to TLS": (socket: Socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
})) {
  test(`a connection that ${what} has sent nothing of its request`, async () => {
    const tcp = createTcpServer((socket) => end(socket.on("error", () => undefined)));
    const { port, close } = await listenLocally(tcp);
    const url = `https://127.0.0.1:${port}`;
    const upstream = openUpstream(url);
    upstreams.push(upstream);
    const { signal } = new AbortController();
    const sent = upstream.send({ method: "POST", url: `${url}/x`, headers: {}, body: "{}", signal });
    await assert.rejects(sent, failsAt("not_sent")).finally(close);
  });
}

test("an abort ends the wait for a connection at once, and nothing is sent once there is one", async () => {
  const requests: string[] = [];
  const { send } = await open((incoming, response) => {
    requests.push(incoming.url ?? "");
    response.end();
  });
  const waiting = new AbortController();
  // No connection is open yet, and none opens before this turn ends.
  const sent = send("/given-up", waiting.signal);
  waiting.abort();
  await assert.rejects(sent, failsAt("not_sent"));
  await textOf(await send("/next"));
  assert.deepEqual(requests, ["/next"]);
});

test("a reader that is slow keeps the sender waiting, not the memory growing, and loses nothing", async () => {
  const chunk = Buffer.alloc(64 * 1024, "x");
  const total = 256;
  let sent = 0;
  const { send } = await open((_, response) => {
    const more = (): void => {
      while (sent < total) {
        sent += 1;
        if (!response.write(chunk)) return;
      }
      response.end();
    };
    response.on("drain", more);
    more();
  });
  const response = await send();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(sent < total, `${sent} of ${total} chunks had left before anything was read`);
  assert.equal((await textOf(response)).length, total * chunk.length);
});

test("a busy reader gets the bytes since its last read as one part of at most 64 KiB", async () => {
  const event = "x".repeat(1024);
  const { send } = await open((_, response) => {
    response.write(event);
    setTimeout(() => {
      for (let left = 199; left > 0; left -= 1) response.write(event);
      response.end();
    }, 20);
  });
  const parts: number[] = [];
  for await (const part of (await send()).body) {
    parts.push(part.length);
    // Many short waits, because on a busy machine one long wait may be a single turn of the event loop.
    for (let waits = parts.length === 1 ? 20 : 0; waits > 0; waits -= 1) await new Promise((go) => setTimeout(go, 10));
  }
  const [first, second] = parts;
  assert.equal(first, 1024);
  assert.ok(second !== undefined && second > 32 * 1024, `the second part has ${second} bytes`);
  assert.ok(Math.max(...parts) <= 64 * 1024);
  assert.equal(
    parts.reduce((sum, length) => sum + length, 0),
    200 * 1024,
  );
});

test("leaving a body early closes its connection", async () => {
  let closed = false;
  const { send } = await open((incoming, response) => {
    incoming.socket.once("close", () => {
      closed = true;
    });
    response.write("first");
  });
  for await (const _ of (await send()).body) break;
  for (let tries = 0; !closed && tries < 100; tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(closed, true);
});

test("large answers that come at once are read some in each turn of the event loop, and a small one is not kept waiting", async () => {
  const MIB = 1024 * 1024;
  const { send } = await open((incoming, response) => {
    response.end(incoming.url === "/small" ? "small" : Buffer.alloc(2 * MIB));
  });
  let turn = 0;
  const nextTurn = (): void => {
    turn += 1;
    immediate = setImmediate(nextTurn);
  };
  let immediate = setImmediate(nextTurn);
  const byTurn = new Map<number, number>();
  const begun = Promise.withResolvers<void>();
  let ended = 0;
  const large = Array.from({ length: 40 }, async () => {
    for await (const chunk of (await send()).body) {
      byTurn.set(turn, (byTurn.get(turn) ?? 0) + chunk.length);
      begun.resolve();
    }
    ended += 1;
  });
  try {
    await begun.promise;
    assert.equal(await textOf(await send("/small")), "small");
    assert.ok(ended < large.length, "the small one came after all others");
    await Promise.all(large);
  } finally {
    clearImmediate(immediate);
  }
  const most = Math.max(...byTurn.values());
  assert.ok(most <= MIB, `${Math.round(most / 1024)} KiB in one turn`);
});
