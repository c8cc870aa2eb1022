import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { sendHttp, type WireAnswer } from "@inference/gateway/test/http-client";
import { settledOf } from "@inference/gateway/test/settlement/audit";
import { eventually } from "@inference/protocol/testing/eventually";
import { type ProviderSimulator, startProviderSimulator } from "@inference/provider-simulator/server";
import { type Stack, startStack } from "../testing/stack.ts";
import { STANDING_MS } from "./remote-environment.ts";

/**
 * Three threads that serve HTTP behave as one. Each request has a connection of its own, so that all threads take part:
 * that one of three gets none of forty happens once in four million runs.
 */
const THREADS = 3;
const MANY = 40;
const USD = 1_000_000_000;
const TOKEN = "an-operators-token";
const AT_ONCE = 4;
const PER_MINUTE = 200;

const chat = (content: string): object => ({
  model: "sim-small",
  messages: [{ role: "user", content }],
  max_tokens: 20,
});

function ask(stack: Stack, key: string, body: object | null, path = "/v1/chat/completions"): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" };
  return sendHttp(stack.url, { path, headers, ...(body === null ? {} : { body: JSON.stringify(body) }) });
}

const askMany = (stack: Stack, key: string, content: string, times = MANY): Promise<WireAnswer[]> =>
  Promise.all(Array.from({ length: times }, () => ask(stack, key, chat(content))));

const statuses = (answers: readonly WireAnswer[]): number[] => [...new Set(answers.map(({ status }) => status))].sort();

const KEY = "the-simulators-key";
let stack: Stack;
let simulator: ProviderSimulator;
let isHalted = false;
let inFlight = 0;
let mostInFlight = 0;

/** Passes requests on to the simulator, and counts how many it has at once. */
const provider = createServer((incoming, outgoing) => {
  const { url = "/", method, headers } = incoming;
  const isChat = method === "POST";
  if (isChat) inFlight += 1;
  mostInFlight = Math.max(mostInFlight, inFlight);
  const target = new URL(url, simulator.url);
  const passed = request(target, { method, headers: { ...headers, authorization: `Bearer ${KEY}` } }, (answer) => {
    if (isChat) inFlight -= 1;
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(passed);
});

before(async () => {
  simulator = await startProviderSimulator({ masterKey: KEY, errorBudget: null });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const { port } = provider.address() as AddressInfo;
  stack = await startStack({
    threads: THREADS,
    provider: `http://127.0.0.1:${port}${new URL(simulator.url).pathname}`,
    chain: { following: () => ({ state: isHalted ? "halted" : "following", block: 7, lagBlocks: 0 }) },
    operator: {
      metricsToken: TOKEN,
      breaker: { failures: 3, openMs: 600_000 },
      queue: { atOnce: AT_ONCE, waiting: 1_000, waitMs: 20_000 },
      accountRequestsPerMinute: PER_MINUTE,
    },
  });
});
after(async () => {
  await stack.stop();
  provider.closeAllConnections();
  provider.close();
  await simulator.close();
});

test("the provider never has more requests of a model than it may, and none of those that wait is lost", async () => {
  const { key, address } = await stack.account(USD);
  const answers = await askMany(stack, key, "[[delay=100]]", 32);
  assert.deepEqual(statuses(answers), [200]);
  assert.equal(mostInFlight, AT_ONCE);
  assert.equal((await settledOf(stack, address)).length, 32);
  await eventually(() => stack.gateway.live.size === 0);
  assert.equal(stack.gateway.queue.waiting(), 0);
});

test("the metrics of each thread are those of all", async () => {
  const { key } = await stack.account(USD);
  await askMany(stack, key, "hello", 10);
  for (let left = 6; left > 0; left--) {
    const { text } = await ask(stack, TOKEN, null, "/metrics");
    assert.match(text, /^inference_gateway_requests_total\{route="POST \/v1\/chat\/completions",status="200"\} 42$/m);
    assert.match(text, /^inference_gateway_exchanges_total\{outcome="settle",basis="usage"\} 42$/m);
    assert.match(text, /^inference_gateway_requests_in_flight 0$/m);
  }
});

test("an account that is above its requests a minute is refused by every thread", async () => {
  const { key } = await stack.account(USD);
  const path = "/api/v1/key";
  const first = await Promise.all(Array.from({ length: PER_MINUTE }, () => ask(stack, key, null, path)));
  assert.deepEqual(statuses(first), [200]);
  // Whatever is admitted until all threads know is admitted too much.
  await ask(stack, key, null, path);
  await eventually(async () => (await ask(stack, key, null, path)).status === 429);
  const later = await Promise.all(Array.from({ length: MANY }, () => ask(stack, key, null, path)));
  const admitted = later.filter(({ status }) => status === 200).length;
  assert.ok(admitted < MANY / 3, `${admitted} of ${MANY} were admitted`);
  const refused = later.find(({ status }) => status === 429);
  assert.match(refused?.text ?? "", /More than 200 requests arrived within a minute/);
});

test("what the main thread learns of the chain, every thread answers soon", async () => {
  const states = async (): Promise<string[]> => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(stack, "x", null, "/api/v1/status")));
    return [...new Set(answers.map(({ text }) => /"state":"(\w+)"/.exec(text)?.[1] ?? text))];
  };
  assert.deepEqual(await states(), ["following"]);
  isHalted = true;
  await new Promise((resolve) => setTimeout(resolve, 2 * STANDING_MS));
  assert.deepEqual(await states(), ["halted"]);
  isHalted = false;
});

test("a model that failed for accounts of some threads is left alone by all", async () => {
  const { key } = await stack.account(USD);
  for (let left = 3; left > 0; left--) {
    const [answer] = await askMany(stack, (await stack.account(USD)).key, "[[fault=503]]", 1);
    assert.equal(answer?.status, 503);
  }
  const answers = await askMany(stack, key, "hello", 20);
  assert.deepEqual(statuses(answers), [503]);
  assert.ok(answers.every(({ text }) => text.includes("The provider is failing for `sim-small`")));
});
