import assert from "node:assert/strict";
import { test } from "node:test";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Timers } from "@inference/protocol/timers";
import { type ChainClientOptions, createChainClient, RpcError } from "./rpc.ts";
import { shareLiar } from "./testing/liar.ts";
import { timers } from "./testing/timers.ts";

const node = shareLiar(() => "http://127.0.0.1:1");

function client(options: Partial<ChainClientOptions> = {}) {
  return createChainClient({
    url: node.url,
    fetch,
    random: () => 0,
    timers,
    timeoutMs: 60_000,
    pauseMs: 1,
    ...options,
  });
}
const isUnavailable = (error: unknown) => error instanceof ChainUnavailable;

test("an answer is given as it came", async () => {
  node.lie = ({ method, params }) => ({ result: { method, params } });
  const patient = client();
  assert.deepEqual(await patient.request("eth_any", ["0x1", null]), { method: "eth_any", params: ["0x1", null] });
  assert.equal(node.asked.length, 1);
});

test("a node that fails twice is asked a third time, and not a fourth", async () => {
  let failures = 2;
  node.lie = () => (failures-- > 0 ? (response) => response.writeHead(502).end() : { result: "0x1" });
  const patient = client();
  assert.equal(await patient.request("eth_any", []), "0x1");
  failures = 3;
  node.asked = [];
  await assert.rejects(patient.request("eth_any", []), isUnavailable);
  assert.equal(node.asked.length, 3);
});

test("the pauses between tries ignore the node's retry-after", async () => {
  node.lie = () => (response) => response.writeHead(429, { "retry-after": "3600" }).end();
  const times: number[] = [];
  const noting: Timers = {
    after(ms, callback) {
      times.push(ms);
      return timers.after(ms, callback);
    },
  };
  const patient = client({ pauseMs: 40, random: () => 0.5, timers: noting });
  await assert.rejects(patient.request("eth_any", []), isUnavailable);
  assert.deepEqual(times, [60_000, 40, 60_000, 80, 60_000]);
});

test("an error is an answer and not asked for twice, but for a rate limit", async () => {
  node.lie = () => ({ error: { code: -32602, message: "block range too large" } });
  const isRangeError = (error: unknown) =>
    error instanceof RpcError && error.code === -32602 && !error.isContractFailure;
  await assert.rejects(client().request("eth_getLogs", []), isRangeError);
  assert.equal(node.asked.length, 1);
  node.lie = () => ({ error: { code: 429, message: "compute units" } });
  await assert.rejects(client().request("eth_getLogs", []), RpcError);
  assert.equal(node.asked.length, 4);
});

test("an error under a status of 400 is the node's error", async () => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "range" } });
  node.lie = () => (response) => response.writeHead(400).end(body);
  await assert.rejects(client().request("eth_getLogs", []), RpcError);
});

const unreadable = {
  "a page": "<html></html>",
  nothing: "",
  "a list": "[]",
  "a text": '"0x1"',
  "an answer without a result": '{"jsonrpc":"2.0","id":1}',
  "an answer to another question": '{"jsonrpc":"2.0","id":999,"result":"0x1"}',
  "an error that is none": '{"jsonrpc":"2.0","id":1,"error":"x"}',
};
for (const [name, body] of Object.entries(unreadable)) {
  test(`${name} under a status of 200 is no answer`, async () => {
    node.lie = () => (response) => response.end(body);
    await assert.rejects(client().request("eth_any", []), isUnavailable);
    assert.equal(node.asked.length, 3);
  });
}

test("an answer above the limit is given up while it comes, and not asked for twice", async () => {
  let sent = 0;
  node.lie = () => (response) => {
    const chunk = "x".repeat(1 << 16);
    const more = () => {
      if (response.destroyed || sent > 1_000) return;
      sent += 1;
      response.write(chunk, more);
    };
    more();
  };
  await assert.rejects(client({ maxResponseBytes: 1 << 18 }).request("eth_any", []), isUnavailable);
  assert.equal(node.asked.length, 1);
  assert.ok(sent < 1_000);
});

test("an answer that comes drop by drop is given up at the timeout", async () => {
  node.lie = () => (response) => {
    const drops = setInterval(() => response.write(" "), 10);
    response.on("close", () => clearInterval(drops));
  };
  await assert.rejects(client({ tries: 1, timeoutMs: 150 }).request("eth_any", []), isUnavailable);
});

test("a redirect is not followed", async () => {
  node.lie = () => (response) => response.writeHead(307, { location: `${node.url}elsewhere` }).end();
  await assert.rejects(client({ tries: 1 }).request("eth_any", []), isUnavailable);
  assert.equal(node.asked.length, 1);
});

test("the caller's signal ends all tries together", async () => {
  const caller = new AbortController();
  node.lie = () => () => caller.abort();
  const request = client({ pauseMs: 60_000 }).request("eth_any", [], { signal: caller.signal });
  await assert.rejects(request, isUnavailable);
  assert.equal(node.asked.length, 1);
});

test("its timers are those that it was given, and none is left when a request is over", async () => {
  const waiting = new Set<() => void>();
  const given: Timers = {
    after(_, callback) {
      waiting.add(callback);
      return { cancel: () => void waiting.delete(callback) };
    },
  };
  node.lie = () => ({ result: "0x1" });
  await client({ timers: given }).request("eth_any", []);
  assert.equal(waiting.size, 0);
  node.lie = () => () => {};
  const refused = assert.rejects(client({ timers: given, tries: 2 }).request("eth_any", []), isUnavailable);
  for (const _ of ["the first try", "the pause", "the second try"]) {
    const callback = await eventually(() => [...waiting][0] ?? false);
    waiting.delete(callback);
    callback();
  }
  await refused;
  assert.equal(waiting.size, 0);
});

test("a node's address, which may hold a secret, is in no error", async () => {
  node.lie = () => (response) => response.destroy();
  const url = `${node.url}v2/very-secret`;
  await assert.rejects(client({ url }).request("eth_any", []), (error: unknown) => {
    assert.ok(error instanceof Error);
    const texts = [error.message, String(error.stack), String(error.cause)];
    return texts.every((text) => !text.includes("very-secret"));
  });
});

test("a user name in the address becomes a header", async () => {
  let authorization: string | null = null;
  const url = "http://user:p%40ss@127.0.0.1:1/";
  const fetched: typeof fetch = async (to, init) => {
    assert.equal(String(to), "http://127.0.0.1:1/");
    authorization = new Headers(init?.headers).get("authorization");
    return Response.json({ jsonrpc: "2.0", id: 1, result: null });
  };
  await client({ url, fetch: fetched }).request("eth_any", []);
  assert.equal(authorization, `Basic ${btoa("user:p@ss")}`);
});
