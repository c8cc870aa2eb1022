import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import {
  type Asked,
  ask,
  chat,
  chunks,
  configure,
  eventData,
  type Heard,
  json,
  lastRecord,
  MASTER_KEY,
  said,
  start,
} from "./client.ts";
import { FAULTS } from "./faults.ts";
import type { ProviderSimulator } from "./server.ts";

const TEN = "[[prompt=100]] [[tokens=10]]";

async function meet(provider: ProviderSimulator, fault: string, stream = false, asked: Asked = {}): Promise<Heard> {
  return chat(provider, `fault-${fault}`, TEN, { stream }, asked);
}

async function billed(provider: ProviderSimulator): Promise<number> {
  return Number((await lastRecord(provider)).billedAtto) / 1e9;
}

/** A fault model costs 1 and 2 dollars a million: 100 prompt tokens and `tokens` of completion, in nano-dollars. */
const price = (tokens: number): number => 100_000 + tokens * 2000;

test("each refusal has its status and its text, and costs nothing", async () => {
  await using provider = await start();
  const expected: Record<string, [number, RegExp]> = {
    "400-schema": [400, /"issues":\[/],
    "400-openai": [400, /"type":"invalid_request_error"/],
    "400-provider": [400, /"request_id"/],
    "401": [401, /Authentication failed/],
    "401-key-in-body": [401, new RegExp(MASTER_KEY)],
    "401-model": [401, /"code":"PRO_ONLY_MODEL"/],
    "402-balance": [402, /Insufficient USD or Diem balance/],
    "402-key-limit": [402, /USD spend limit exceeded/],
    "402-diem-limit": [402, /DIEM spend limit exceeded/],
    "402-wallet": [402, /"code":"PAYMENT_REQUIRED"/],
    "403": [403, /region/],
    "403-flagged": [403, /"reasons":\["violence"\]/],
    "404": [404, /not found/],
    "409": [409, /in progress/],
    "410": [410, /retired/],
    "413": [413, /"code":"PAYLOAD_TOO_LARGE"/],
    "415": [415, /media type/],
    "422": [422, /"suggested_prompt"/],
    "422-fields": [422, /"loc":\["body","temperature"\]/],
    "429": [429, /Rate limit exceeded/],
    "429-retry-after": [429, /overloaded/],
    "429-budget": [429, /Too many failed attempts/],
    "500": [500, /Inference processing failed/],
    "500-large": [500, /x{1000}/],
    "502": [502, /upstream/],
    "503": [503, /at capacity/],
    "503-offline": [503, /offline/],
    "504": [504, /stream=true/],
    "html-200": [200, /^<html>/],
    "204": [204, /^$/],
    redirect: [307, /^$/],
  };
  const answers = Object.keys(FAULTS).filter((name) => FAULTS[name]?.stage === "answer");
  assert.deepEqual(Object.keys(expected).sort(), answers.sort());
  for (const [fault, [status, text]] of Object.entries(expected)) {
    for (const stream of [false, true]) {
      const heard = await meet(provider, fault, stream);
      assert.equal(heard.status, status, fault);
      assert.match(heard.text, text, fault);
      assert.equal(await billed(provider), 0, fault);
    }
  }
});

test("two of the 429 say how long to wait, and a redirect leads elsewhere", async () => {
  await using provider = await start();
  assert.equal((await meet(provider, "429-retry-after")).headers["retry-after"], "30");
  assert.equal((await meet(provider, "429-budget")).headers["retry-after"], "0");
  assert.equal((await meet(provider, "429")).headers["retry-after"], undefined);
  assert.match((await meet(provider, "redirect")).headers.location ?? "", /^http:\/\/127\.0\.0\.1:9\//);
  assert.ok((await meet(provider, "500-large")).bytes.length > 10 * 1024 * 1024);
});

test("connection faults give no answer, and cost nothing", async () => {
  await using provider = await start();
  for (const fault of ["reset-before-headers", "fin-before-headers", "endless-headers"]) {
    const heard = await meet(provider, fault);
    assert.equal(heard.status, 0, fault);
    assert.notEqual(heard.error, null, fault);
  }
});

test("cuts end the stream where their name says and are billed for the tokens sent", async () => {
  await using provider = await start();
  const cases: Record<string, [boolean, number]> = {
    "cut-mid-stream": [false, 5],
    "cut-fin": [false, 5],
    "cut-before-done": [true, 10],
  };
  for (const [fault, [complete, tokens]] of Object.entries(cases)) {
    const heard = await meet(provider, fault, true);
    assert.equal(heard.status, 200, fault);
    assert.equal(heard.complete, complete, fault);
    assert.equal(
      chunks(heard).filter((chunk) => (chunk.choices?.[0]?.delta.content ?? "") !== "").length,
      tokens,
      fault,
    );
    assert.ok(!heard.text.includes("[DONE]") || said(heard).includes("[DONE]"), fault);
    assert.ok(
      chunks(heard).every((chunk) => chunk.usage === undefined),
      fault,
    );
    assert.equal(await billed(provider), price(tokens), fault);
  }
});

test("a buffered answer that is cut arrives in half and is billed whole", async () => {
  await using provider = await start();
  for (const fault of ["cut-mid-stream", "cut-fin", "cut-before-done"]) {
    const heard = await meet(provider, fault);
    assert.equal(heard.complete, false, fault);
    assert.equal(heard.bytes.length, Number(heard.headers["content-length"]) >> 1, fault);
    assert.equal(await billed(provider), price(10), fault);
  }
});

test("in-band errors come alone, after content, or amid it", async () => {
  await using provider = await start();
  const alone = await meet(provider, "200-error-only", true);
  assert.equal(chunks(alone).length, 1);
  assert.equal(chunks(alone)[0]?.error?.code, "model_overloaded");
  assert.equal(eventData(alone).at(-1), "[DONE]");
  assert.equal(await billed(provider), 0);

  const [error, usage, ...more] = chunks(await meet(provider, "error-then-usage", true));
  assert.equal(error?.error?.code, "model_overloaded");
  assert.equal(usage?.usage?.completion_tokens, 10);
  assert.deepEqual(more, []);
  assert.equal(await billed(provider), price(10));

  const after = chunks(await meet(provider, "error-after-content", true));
  assert.equal(after.at(-1)?.error?.code, "model_overloaded");
  assert.ok(after.every((chunk) => chunk.usage === undefined));
  assert.equal(await billed(provider), price(5));

  const amid = chunks(await meet(provider, "error-then-content", true));
  const at = amid.findIndex((chunk) => chunk.error !== undefined);
  assert.ok(at > 0 && at < amid.length - 1);
  assert.equal(amid.at(-1)?.usage?.completion_tokens, 10);
  assert.equal(await billed(provider), price(10));

  assert.equal(
    json<{ error: { code: string } }>(await meet(provider, "200-error-only")).error.code,
    "model_overloaded",
  );
  assert.equal((await meet(provider, "error-after-content")).status, 500);
  assert.equal(await billed(provider), 0);
  const used = json<{ error: { code: string }; usage: { completion_tokens: number } }>(
    await meet(provider, "error-then-usage"),
  );
  assert.deepEqual([used.error.code, used.usage.completion_tokens], ["model_overloaded", 10]);
  assert.equal(await billed(provider), price(10));
});

test("no usage means no usage field and no usage chunk, and a bill all the same", async () => {
  await using provider = await start();
  const stream = await meet(provider, "no-usage", true);
  assert.ok(chunks(stream).every((chunk) => chunk.usage === undefined));
  assert.equal(eventData(stream).at(-1), "[DONE]");
  assert.equal(await billed(provider), price(10));
  assert.equal(json<{ usage?: unknown }>(await meet(provider, "no-usage")).usage, undefined);
});

test("false usage is reported in both forms while the true usage is billed", async () => {
  await using provider = await start();
  const expected: Record<string, RegExp> = {
    "usage-negative": /"completion_tokens":-10,/,
    "usage-fractional": /"completion_tokens":10\.25,/,
    "usage-text": /"completion_tokens":"10",/,
    "usage-nan": /"completion_tokens":"NaN",/,
    "usage-absurd": /"completion_tokens":9007199254740993,/,
    "usage-int32": /"completion_tokens":2147483647,/,
    "usage-1e400": /"completion_tokens":1e400,/,
    "usage-zeros": /"prompt_tokens":0,"completion_tokens":0,"total_tokens":0/,
    "usage-total-only": /"usage":\{"total_tokens":110\}/,
    "usage-subcounts": /"cached_tokens":1100,.*"reasoning_tokens":1010/,
  };
  for (const [fault, text] of Object.entries(expected)) {
    for (const stream of [false, true]) {
      assert.match((await meet(provider, fault, stream)).text, text, fault);
      assert.equal(await billed(provider), price(10), fault);
    }
  }
});

test("usage above the bound is reported and billed above it", async () => {
  await using provider = await start();
  const heard = await chat(provider, "fault-usage-above-bound", TEN, { max_tokens: 50 });
  assert.equal(json<{ usage: { completion_tokens: number } }>(heard).usage.completion_tokens, 1050);
  assert.equal(await billed(provider), price(1050));
});

test("usage may be null in every chunk before the real one, or come twice", async () => {
  await using provider = await start();
  const nulls = chunks(await meet(provider, "usage-null-everywhere", true));
  assert.ok(nulls.slice(0, -1).every((chunk) => chunk.usage === null));
  assert.equal(nulls.at(-1)?.usage?.completion_tokens, 10);
  assert.equal(json<{ usage: unknown }>(await meet(provider, "usage-null-everywhere")).usage, null);
  const twice: Record<string, unknown[]> = {
    "usage-repeated": [1, 10],
    "usage-worsens": [1, "10"],
    "usage-mends": ["10", 10],
  };
  for (const [fault, counts] of Object.entries(twice)) {
    const repeated = chunks(await meet(provider, fault, true)).filter((chunk) => chunk.usage !== undefined);
    assert.deepEqual(
      repeated.map((chunk) => chunk.usage?.completion_tokens),
      counts,
      fault,
    );
    assert.equal(await billed(provider), price(10), fault);
  }
  assert.match((await meet(provider, "usage-worsens")).text, /"completion_tokens":"10",/);
  assert.match((await meet(provider, "usage-mends")).text, /"completion_tokens":10,/);
});

test("framing faults change the bytes and not what they say", async () => {
  await using provider = await start();
  const plain = said(await chat(provider, "sim-small", TEN, { stream: true }));
  const framing: Record<string, RegExp> = {
    crlf: /^data: .*\r\n\r\n/,
    cr: /^data: [^\n]*\r\rdata: [^\n]*$/,
    "mixed-endings": /\n\n.*\r\n\r\n.*\r\r/s,
    bom: /^\ufeffdata: /,
    "no-space": /^data:\{/,
    "multiline-data": /^data: \{"id":"[^"]*",\ndata: "object"/,
    comments: /^: keep-alive\n\nevent: message\nid: 1\ndata: /,
    "done-twice": /data: \[DONE\]\n\ndata: \[DONE\]\n\n$/,
    "trailing-after-done": /data: \[DONE\]\n\ndata: \{.*after the end/,
    "big-event": /"filler":"x{1000000}/,
    "split-utf8": /^data: /,
    "split-data": /^data: /,
    "many-per-chunk": /^data: /,
    gzip: /^data: /,
  };
  for (const [fault, bytes] of Object.entries(framing)) {
    await configure(provider, { faults: { "sim-small": fault } });
    const raw = await chat(provider, "sim-small", TEN, { stream: true });
    const heard = fault === "gzip" ? { ...raw, text: gunzipSync(raw.bytes).toString() } : raw;
    assert.match(heard.text, bytes, fault);
    assert.equal(said(heard), plain + (fault === "trailing-after-done" ? "after the end" : ""), fault);
    const usage = chunks(heard).find((chunk) => chunk.usage !== undefined)?.usage;
    assert.equal(usage?.completion_tokens, 10, fault);
  }
});

test("writes end inside UTF-8 sequences, inside data:, or only once", async () => {
  await using provider = await start();
  const content = "[[tokens=64]]";
  const decodes = (read: Buffer): boolean => Buffer.from(read.toString()).equals(read);
  const utf8 = await chat(provider, "fault-split-utf8", content, { stream: true });
  assert.ok(utf8.reads.some((read) => !decodes(read)));
  assert.ok(decodes(utf8.bytes));
  const data = await chat(provider, "fault-split-data", content, { stream: true });
  assert.ok(data.reads.some((read) => read.toString().endsWith("da")));
  assert.ok(data.reads.some((read) => read.toString().startsWith("ta:")));
  const whole = await chat(provider, "fault-many-per-chunk", content, { stream: true });
  assert.ok(whole.reads.length < 4);
  const gzip = await chat(provider, "fault-gzip", content);
  assert.equal(gzip.headers["content-encoding"], "gzip");
  assert.match(gunzipSync(gzip.bytes).toString(), /"completion_tokens":64/);
});

test("garbage between events is no event, and usage still follows", async () => {
  await using provider = await start();
  const data = eventData(await meet(provider, "trailing-garbage", true));
  const broken = data.filter((text) => text !== "[DONE]" && !parses(text));
  assert.equal(broken.length, 1);
  assert.match(data.at(-2) ?? "", /"completion_tokens":10/);
});

test("slow answers take their time: a token, or a byte, at each tick", async () => {
  await using provider = await start({ slowDripMs: 20 });
  let started = performance.now();
  await meet(provider, "slow-drip", true);
  assert.ok(performance.now() - started >= 10 * 20 - 10);
  await configure(provider, { slowDripMs: 1 });
  started = performance.now();
  const bytes = await chat(provider, "fault-byte-drip", "[[tokens=1]]");
  assert.equal(bytes.complete, true);
  assert.ok(bytes.reads.length > 100, String(bytes.reads.length));
  const stream = await chat(provider, "fault-byte-drip", "[[tokens=0]]", { stream: true });
  assert.ok(stream.reads.length > 100, String(stream.reads.length));
});

test("an endless buffered answer goes on until the client leaves", async () => {
  await using provider = await start();
  const heard = await meet(provider, "endless-body", false, { leaveAtBytes: 50_000 });
  assert.equal(heard.complete, false);
  assert.ok(heard.bytes.length > 16 * 1024);
  assert.equal(await billed(provider), price(10));
});

test("a placed fault strikes as many times as it says, on a model or on a path", async () => {
  await using provider = await start();
  await configure(provider, { faults: { "sim-small": { fault: "503", times: 2 }, "/models": "500" } });
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await chat(provider, "sim-small", "hi")).status);
  assert.deepEqual(statuses, [503, 503, 200]);
  assert.equal((await chat(provider, "sim-large", "hi")).status, 200);
  assert.equal((await ask(`${provider.url}/models`)).status, 500);
  await configure(provider, { faults: { "/models": null } });
  assert.equal((await ask(`${provider.url}/models`)).status, 200);
});

test("every fault is a row of the catalogue, and stands in the README", async () => {
  await using provider = await start();
  const listing = json<{ data: { id: string; model_spec: { pricing?: unknown } }[] }>(
    await ask(`${provider.url}/models?type=all`),
  );
  const priced = new Set(listing.data.flatMap((row) => (row.model_spec.pricing === undefined ? [] : [row.id])));
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  for (const name of Object.keys(FAULTS)) {
    assert.ok(priced.has(`fault-${name}`), name);
    assert.ok(readme.includes(`\`${name}\``), name);
  }
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
