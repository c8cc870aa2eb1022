import assert from "node:assert/strict";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { providerRecords } from "@inference/gateway/test/settlement/audit";
import type { Tracing } from "@inference/gateway/tracing";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import { startStack } from "./testing/stack.ts";
import { openTracing } from "./tracing.ts";

/** Traces as a collector gets them: OTLP over HTTP, in JSON. */
const USD = 1_000_000_000;
const TRACE = "a1".repeat(16);
const PARENT = "b2".repeat(8);
const CHAT = "/v1/chat/completions";

type Value = { stringValue?: string; intValue?: number; arrayValue?: { values: Value[] } };
type Attribute = { key: string; value: Value };
type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 2: server, 3: client. */
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  /** 2: error. */
  status: { code?: number };
};
type Export = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[] };

const exports: { path: string; text: string }[] = [];
const server = createServer(async (request, response) => {
  exports.push({ path: request.url ?? "", text: await text(request) });
  response.writeHead(200, { "content-type": "application/json" }).end("{}");
});

let collector: LocalServer;
before(async () => {
  collector = await listenLocally(server);
});
after(() => collector.close());

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.arrayValue?.values.map(({ stringValue }) => stringValue) ?? value.stringValue ?? value.intValue,
    ]),
  );

/** Sends the test's requests, waits for their end, and returns the first one as the provider received it. */
async function askAll(tracing: Tracing) {
  await using stack = await startStack({ tracing });
  const { address, key } = await stack.account(USD);
  const poor = await stack.account(1);
  const ask = async (sender: string, content: string, more: object = {}, headers: Record<string, string> = {}) => {
    const body = { model: "sim-small", messages: [{ role: "user", content }], max_tokens: 20, ...more };
    const answer = await stack.call(CHAT, { key: sender, body, headers });
    await answer.text();
    return { status: answer.status, id: answer.headers.get("x-request-id") };
  };
  const traced = { traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: "vendor=1" };
  const malformed = { traceparent: "00-evil" };
  const whole = await ask(key, "a secret, whole [[prompt=9]] [[tokens=7]]", {}, traced);
  const streamed = await ask(key, "a secret, streamed [[prompt=9]] [[tokens=7]]", { stream: true }, malformed);
  const refused = await ask(poor.key, "a secret, refused");
  const failed = await ask(key, "a secret, failed [[fault=500]]");
  assert.deepEqual([whole.status, streamed.status, refused.status], [200, 200, 402]);
  assert.equal((await stack.call("/nowhere", { key })).status, 404);
  const [seen] = providerRecords(stack, "a secret, whole");
  return { whole, streamed, refused, failed, seen, secrets: [address, key, poor.address, stack.canary] };
}

test("a whole, a streamed, a refused and a failed request have their spans, without content and account", async () => {
  const { url } = collector;
  const tracing = await openTracing(url, { profile: "venice", baseUrl: "https://provider.test:8443/v1" });
  const { whole, streamed, refused, failed, secrets, seen } = await askAll(tracing);
  await tracing.close();

  assert.ok(exports.every(({ path }) => path === "/v1/traces"));
  const text = exports.map((each) => each.text).join();
  for (const secret of ["secret", "127.0.0.1", ...secrets]) {
    assert.ok(!text.toLowerCase().includes(secret.toLowerCase()), `a span has ${secret}`);
  }
  const sent = exports.flatMap((each) => (JSON.parse(each.text) as Export).resourceSpans);
  assert.equal(valuesOf(sent[0]?.resource.attributes ?? [])["service.name"], "inference-gateway");
  const spans = sent.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  const servers = spans.filter(({ kind }) => kind === 2);
  assert.equal(servers.length, 5);
  const ofRequest = (id: string | null) => {
    const header = "http.response.header.x-request-id";
    const server = servers.find(({ attributes }) => (valuesOf(attributes)[header] as string[])[0] === id);
    assert.ok(server !== undefined, `no span of ${id}`);
    const calls = spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
    const { [header]: _, ...values } = valuesOf(server.attributes);
    return { server, values, calls: calls.map((call) => ({ ...call, values: valuesOf(call.attributes) })) };
  };

  const route = { "http.request.method": "POST", "http.route": CHAT };
  const model = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "sim-small" };
  const provider = { "gen_ai.provider.name": "venice", "server.address": "provider.test", "server.port": 8443 };
  const usage = { "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 7 };
  const served = { "http.response.status_code": 200, "gen_ai.response.model": "sim-small", ...usage };
  for (const { id } of [whole, streamed]) {
    const { server, values, calls } = ofRequest(id);
    assert.deepEqual([server.name, values], [`POST ${CHAT}`, { ...route, "http.response.status_code": 200 }]);
    const [call, ...others] = calls;
    assert.deepEqual([call?.name, call?.kind, others], ["chat sim-small", 3, []]);
    assert.deepEqual(call?.values, { ...model, ...provider, ...served });
    assert.equal(call?.traceId, server.traceId);
    assert.ok(BigInt(server.endTimeUnixNano) >= BigInt(call?.endTimeUnixNano ?? 0), "it ends with its answer");
  }
  const first = ofRequest(whole.id);
  assert.deepEqual([first.server.traceId, first.server.parentSpanId], [TRACE, PARENT]);
  const parent = `00-${TRACE}-${first.calls[0]?.spanId}-01`;
  const at = (name: string) => seen?.headers?.[(seen.headers.indexOf(name) ?? -2) + 1];
  assert.deepEqual([at("traceparent"), at("tracestate")], [parent, "vendor=1"]);
  assert.equal(ofRequest(streamed.id).server.parentSpanId ?? "", "", "a malformed place in a trace is none");

  const none = ofRequest(refused.id);
  assert.deepEqual(none.calls, [], "it was not sent");
  const why = { "http.response.status_code": 402, "error.type": "insufficient_balance" };
  assert.deepEqual([none.values, none.server.status.code ?? 0], [{ ...route, ...why }, 0]);
  const broken = ofRequest(failed.id);
  assert.equal(broken.server.status.code, 2);
  const [tried] = broken.calls;
  const error = { "http.response.status_code": 500, "error.type": "500" };
  assert.deepEqual([tried?.values, tried?.status.code], [{ ...model, ...provider, ...error }, 2]);
});

test("a collector that is away costs requests nothing, and no more spans wait than the queue has room for", async () => {
  const away = await openTracing("http://127.0.0.1:9", { profile: "generic", baseUrl: "http://127.0.0.1:9" });
  await using other = await startStack({ tracing: away });
  const { key } = await other.account(USD);
  const body = { model: "sim-small", messages: [{ role: "user", content: "hello" }], max_tokens: 5 };
  for (let n = 0; n < 5_000; n++) {
    const span = away.begin({ at: Date.now(), method: "GET", parent: null });
    span.answered({ id: "none", route: "GET /", status: 200, code: null });
  }
  assert.equal((await other.call(CHAT, { key, body })).status, 200);
  await away.close();
});
