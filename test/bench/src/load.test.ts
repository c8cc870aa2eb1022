import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import { test } from "node:test";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { runLoad } from "./load.ts";
import { requestBody, streamEvents } from "./load-plan.ts";
import { firstLine, startScript } from "./process.ts";

const plan = {
  headers: [{}],
  body: requestBody("buffered"),
  connections: 4,
  warmupSeconds: 0.1,
  seconds: 0.4,
  events: null,
};

async function serving<T>(listener: RequestListener, use: (origin: string) => Promise<T>): Promise<T> {
  await using server = await listenLocally(createServer(listener));
  return await use(server.url);
}

test("whole answers and streams are counted through the bare proxy, and no error is seen", async () => {
  const upstream = await startScript("./fixed-upstream.ts", []);
  const proxy = await startScript("./bare-proxy.ts", [await firstLine(upstream)]);
  try {
    const url = `${await firstLine(proxy)}/api/v1/chat/completions`;
    const buffered = await runLoad({ ...plan, url });
    assert.ok(buffered.allAnswers >= plan.connections && buffered.allAnswers >= buffered.answers);
    const streamed = await runLoad({ ...plan, url, body: requestBody("flood"), events: streamEvents, connections: 20 });
    assert.ok(streamed.allAnswers > 0);
    assert.equal(streamed.allEvents, streamed.allAnswers * streamEvents);
    for (const { errors, unfinished } of [buffered, streamed]) assert.deepEqual([errors, unfinished], [0, 0]);
  } finally {
    await proxy.stop();
    await upstream.stop();
  }
});

test("every refusal, cut and garbled answer is an error and none is an answer", async () => {
  let refused = 0;
  let answered = 0;
  const result = await serving(
    (request, response) => {
      request.resume();
      const turn = (refused + answered) % 4;
      if (turn === 3) {
        answered += 1;
        response.end('{"usage":{}}');
        return;
      }
      refused += 1;
      if (turn === 0) response.writeHead(503).end("{}");
      else if (turn === 1) response.destroy();
      else {
        response.writeHead(200, { "content-length": 100 }).write("{");
        setTimeout(() => response.destroy(), 1);
      }
    },
    (origin) => runLoad({ ...plan, url: `${origin}/`, connections: 1 }),
  );
  assert.ok(refused > 3);
  assert.equal(result.errors, refused);
  assert.equal(result.allAnswers, answered);
});

test("connections take the sets of headers in turn", async () => {
  const keys = new Map<string, Set<number>>();
  await serving(
    (request, response) => {
      const key = String(request.headers["x-key"]);
      keys.set(key, (keys.get(key) ?? new Set()).add(request.socket.remotePort ?? 0));
      request.resume();
      response.end('{"usage":{}}');
    },
    (origin) => runLoad({ ...plan, url: `${origin}/`, headers: [{ "x-key": "a" }, { "x-key": "b" }] }),
  );
  assert.deepEqual([...keys].map(([key, sockets]) => [key, sockets.size]).sort(), [
    ["a", 2],
    ["b", 2],
  ]);
});

test("nothing but loopback is loaded", async () => {
  await assert.rejects(runLoad({ ...plan, url: "http://192.0.2.1:80/" }), /loopback/);
});
