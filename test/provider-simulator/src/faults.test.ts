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

test("a fault in place of an answer has its status, whole and streamed, and costs nothing", async () => {
  await using provider = await start();
  for (const [fault, { stage, answer }] of Object.entries(FAULTS)) {
    for (const stream of stage === "answer" ? [false, true] : []) {
      assert.equal((await meet(provider, fault, stream)).status, answer?.status, fault);
      assert.equal(await billed(provider), 0, fault);
    }
  }
  assert.ok((await meet(provider, "401-key-in-body")).text.includes(MASTER_KEY));
});

test("two of the 429 say how long to wait, and a redirect leads elsewhere", async () => {
  await using provider = await start();
  assert.equal((await meet(provider, "429-retry-after")).headers["retry-after"], "30");
  assert.equal((await meet(provider, "429-budget")).headers["retry-after"], "0");
  assert.equal((await meet(provider, "429")).headers["retry-after"], undefined);
  assert.match((await meet(provider, "redirect")).headers.location ?? "", /^http:\/\/127\.0\.0\.1:9\//);
  assert.ok((await meet(provider, "500-large")).bytes.length > 10 * 1024 * 1024);
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
