import assert from "node:assert/strict";
import { request } from "node:http";
import { after, afterEach, before, beforeEach, describe, mock, test } from "node:test";
import { inspect } from "node:util";
import { providerRecords } from "@inference/gateway/test/settlement/audit";
import { startStubProvider } from "@inference/gateway/test/settlement/stub-provider";
import { eventually } from "@inference/protocol/testing/eventually";
import { FAULTS } from "@inference/provider-simulator/faults";
import { assertError } from "@inference/gateway/test/assert-error";
import { sendHttp, type WireAnswer } from "@inference/gateway/test/http-client";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** Between a client and the provider passes what was meant to pass, and nothing else, in either direction. */
const USD = 1_000_000_000;
const consoleMethods = ["debug", "error", "info", "log", "warn"] as const;

let stack: Stack;
let printed: string[] = [];
before(async () => {
  // 14 minutes are 1.7 s: faults that never end do.
  stack = await startStack({ hurry: 500, drainMs: 100_000 });
  stack.simulator.simulator.change({ errorBudget: null, slowDripMs: 1, largeImageBytes: 100_000 });
});
after(() => stack.stop());
beforeEach(() => {
  printed = [];
  for (const method of consoleMethods) {
    mock.method(console, method, (...values: unknown[]) =>
      printed.push(values.map((value) => inspect(value)).join(" ")),
    );
  }
});
afterEach(() => mock.restoreAll());

const routes: Record<string, (text: string) => object> = {
  "/v1/chat/completions": (content) => ({ model: "sim-small", messages: [{ role: "user", content }], max_tokens: 50 }),
  "/api/v1/chat/completions": (content) => ({
    model: "sim-small",
    messages: [{ role: "user", content }],
    max_tokens: 50,
    stream: true,
    stream_options: { include_usage: true },
  }),
  "/v1/embeddings": (input) => ({ model: "sim-embedding", input }),
  "/v1/images/generations": (prompt) => ({ model: "sim-image", prompt }),
  "/v1/image/generate": (prompt) => ({ model: "sim-image", prompt, return_binary: true }),
  "/v1/audio/speech": (input) => ({ model: "sim-speech", input, streaming: true }),
};

/** What an answer may carry besides its body. */
const allowedHeaders = new Set([
  "access-control-allow-origin",
  "access-control-expose-headers",
  "cache-control",
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "retry-after",
  "transfer-encoding",
  "x-accel-buffering",
  "x-ignored-parameters",
  "x-request-id",
  "x-should-retry",
]);
const ofTheProvider =
  /venice|cloudflare|cf-ray|__cf|diem|top-?up|inference-7f9c|sim-router|127\.0\.0\.1|api settings|spend limit/i;

/** The secret in whole, in part, and as other encodings write it. */
function assertNoSecret(text: string, secret: string, where: string): void {
  const heart = secret.slice(10, 26);
  for (const written of [
    secret,
    heart,
    Buffer.from(secret).toString("base64").slice(4, 24),
    Buffer.from(heart).toString("hex"),
  ]) {
    assert.ok(!text.toLowerCase().includes(written.toLowerCase()), `${where} shows ${written}: ${text.slice(0, 300)}`);
  }
}

function assertClean(answer: WireAnswer, where: string): void {
  const head = `${answer.statusMessage}\n${answer.rawHeaders.join("\n")}`;
  assertNoSecret(head, stack.canary, where);
  assertNoSecret(answer.bytes.toString("latin1"), stack.canary, where);
  assert.doesNotMatch(head, ofTheProvider, where);
  for (const name of Object.keys(answer.headers)) assert.ok(allowedHeaders.has(name), `${where}: ${name} passed`);
  if (answer.status !== 200) assert.doesNotMatch(answer.text, ofTheProvider, where);
}

async function ask(
  account: TestAccount,
  path: string,
  body: object,
  more: Record<string, string> = {},
  { url } = stack,
): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...more };
  return sendHttp(url, { path, body: JSON.stringify(body), headers });
}

describe("the key to the provider", () => {
  for (const [path, makeBody] of Object.entries(routes)) {
    test(`is in no byte that POST ${path} answers with and in no line of a log, whatever happens`, async () => {
      const prompts: string[] = [];
      const payers: TestAccount[] = [];
      const good = await Promise.all(
        ["", ...Object.keys(FAULTS)].map(async (fault) => {
          const account = await stack.account(USD);
          const tag = `prompt-of-${fault}-${path}`;
          prompts.push(tag);
          payers.push(account);
          const markers = fault === "" ? "" : `[[fault=${fault}]]`;
          const answer = await ask(account, path, makeBody(`${tag} ${markers}[[tokens=2]]`));
          assertClean(answer, `${path} ${fault}`);
          return answer.status === 200;
        }),
      );
      assert.ok(good.includes(true) && good.includes(false));
      const logged = `${JSON.stringify(stack.logged)}\n${printed.join("\n")}`;
      assert.ok(logged.length > 100);
      assertNoSecret(logged, stack.canary, "the log");
      for (const { key } of payers) assertNoSecret(logged, key.slice(20), "the log");
      for (const prompt of prompts) assert.ok(!logged.includes(prompt), `the log shows ${prompt}`);
    });
  }

  test("was in the provider's own words, so that the tests above could fail", async () => {
    const answer = await fetch(`${stack.simulator.url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack.canary}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "fault-401-key-in-body", messages: [{ role: "user", content: "x" }] }),
    });
    assert.ok((await answer.text()).includes(stack.canary));
  });

  test("is cut out of whatever a provider says that repeats it everywhere", async () => {
    const provider = await startStubProvider();
    const beside = await startStack({ provider: provider.url, hurry: 500, drainMs: 100_000 });
    const said = `Bearer ${beside.canary}`;
    const repeating = Object.fromEntries(saidHeaders.map((name) => [name, said]));
    const shapes = [
      { error: said },
      { error: { message: `the key ${said} is bad`, type: said, param: said, code: said } },
      { message: said, details: { _errors: [said] } },
      said,
    ];
    const events = (error: unknown): string =>
      `data: {"id":"1","choices":[{"index":0,"delta":{"content":"hello"}}]}\n\ndata: ${JSON.stringify({ error })}\n\n`;
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, note: said, cost: { key: said } };
    const chunk = `data: ${JSON.stringify({ id: "1", choices: [], usage, key: said })}\n\ndata: [DONE]\n\n`;
    const choices = [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }];
    const answers: [status: number, contentType: string, body: string][] = [
      ...[300, 307, 400, 401, 402, 403, 404, 409, 413, 415, 418, 422, 429, 500, 502, 503, 504].flatMap((status) =>
        shapes.map((shape): [number, string, string] => [status, "application/json", JSON.stringify(shape)]),
      ),
      ...shapes.map((shape): [number, string, string] => [
        200,
        "application/json",
        JSON.stringify({ error: shape, key: said }),
      ]),
      ...shapes.map((shape): [number, string, string] => [200, "text/event-stream", events(shape)]),
      [200, "text/event-stream", chunk],
      [200, "text/event-stream", `${events({ message: said })}${chunk}`],
      [200, "text/event-stream", `event: error\ndata: ${said}\n\n`],
      [200, "text/event-stream", `data: ${said}\n\n`],
      [200, "application/json", JSON.stringify({ id: "1", choices, usage, key: said, error_details: said })],
      // Its name for an answer stands in the receipt.
      [200, "application/json", JSON.stringify({ id: said, error: "overloaded", usage })],
      [200, "application/json", JSON.stringify({ id: `${"x".repeat(180)}${said}`, error: "overloaded", usage })],
      [200, "text/event-stream", `data: {"error":"overloaded"}\n\n${chunk.replace('"id":"1"', `"id":"${said}"`)}`],
      [200, `text/html; ${said}`, `<html>${said}</html>`],
      ...writings(beside.canary).flatMap((written): [number, string, string][] => [
        [400, "application/json", JSON.stringify({ error: { message: `the key ${written} is bad` } })],
        [200, "text/event-stream", repeatingStream(written)],
        [200, "application/json", repeatingAnswer(written)],
        [200, "application/json", repeatingAnswer(written, 500_000)],
      ]),
    ];
    let withoutId = 0;
    for (const [status, contentType, body] of answers) {
      provider.say({ status, headers: { ...repeating, "content-type": contentType }, body });
      for (const path of [
        "/v1/chat/completions",
        "/api/v1/chat/completions",
        "/v1/embeddings",
        "/v1/images/generations",
        "/v1/image/generate",
        "/v1/audio/speech",
      ]) {
        const account = await beside.account(USD);
        const request = routes[path]?.("x") ?? {};
        const asked = { ...request, ...(path === "/v1/image/generate" ? { return_binary: false } : {}) };
        const answer = await ask(account, path, asked, {}, beside);
        await eventually(async () => (await beside.balance(account.address)).heldNanoUsd === 0);
        const receipts = await (await beside.call("/api/v1/activity", { key: account.key })).text();
        if (receipts.includes('"upstream_id":null')) withoutId += 1;
        assertNoSecret(
          `${answer.rawHeaders.join("\n")}\n${answer.text}\n${receipts}`,
          beside.canary,
          `${path} after ${status} ${body}`,
        );
        for (const written of writings(beside.canary)) {
          assert.ok(!`${answer.text}\n${receipts}`.includes(written), `${path} shows ${written}`);
        }
      }
    }
    assert.ok(withoutId > 10, `${withoutId} receipts`);
    assertNoSecret(`${JSON.stringify(beside.logged)}\n${printed.join("\n")}`, beside.canary, "the log");
    await beside.stop();
    await provider.stop();
  });
});

/** As an encoder might write it that a provider's words went through. */
function writings(secret: string): string[] {
  const code = (letter: string): string => letter.charCodeAt(0).toString(16).padStart(2, "0");
  return [
    secret.toUpperCase(),
    [...secret].map((letter) => `%${code(letter)}`).join(""),
    secret.replace(/[^A-Za-z0-9]/g, (letter) => `%${code(letter)}`),
    [...secret].map((letter) => `\\u00${code(letter)}`).join(""),
    Buffer.from(secret).toString("hex"),
    Buffer.from(`Bearer ${secret}.`).toString("base64"),
  ];
}

/** An answer that is whole and repeats it wherever the content of a chat and of images has room. */
function repeatingAnswer(key: string, size = 10): string {
  const filling = "x y ".repeat(size / 4);
  const error = `{"message":"Incorrect API key provided: ${key}"}`;
  const said = `"said ${key}":"${key}","error":${error},"finish_reason":"${key}"`;
  const choice = `{"index":0,"message":{"role":"assistant","content":"${filling}${key}${filling}"},${said}}`;
  const image = `{"b64_json":"aGk=","url":"https://x/${key}","revised_prompt":"${filling}${key}","note":["${key}"]}`;
  return `{"id":"1","choices":[${choice},${image}],"data":[${image}],"images":["aGk=",${image},"${filling}${key}"]}`;
}

/** An answer that is whole and repeats it wherever a stream has room. */
function repeatingStream(key: string): string {
  const chunk = (members: string, content = "hello"): string =>
    `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"sim-small",${members}` +
    `"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;
  return [
    `: ${key}\n\n`,
    `event: ${key}\ndata: {"type":"ping"}\n\n`,
    `data: {"type":"${key}"}\n\n`,
    `id: ${key}\nretry: 5\n\n`,
    chunk(`"system_fingerprint":"${key}",`),
    chunk(`"service_tier":"x ${key} x",`),
    chunk("", `so it is ${key} indeed`),
    `id: ${key}\n${chunk("")}`,
    chunk("").replace('"id":"1"', `"id":"${key}"`),
    `data: {"id":"${key}","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}\n\n`,
    "data: [DONE]\n\n",
  ].join("");
}

/** Headers that a provider might repeat it in: those that mean something here or to a client, and one more. */
const saidHeaders = [
  "location",
  "retry-after",
  "set-cookie",
  "www-authenticate",
  "content-disposition",
  "x-request-id",
  "x-venice-is-content-violation",
  "x-said",
];

/** What a client may try to get past us. */
const intruders: Record<string, string> = {
  cookie: "session=stolen",
  "x-forwarded-for": "10.0.0.1",
  "x-forwarded-host": "evil.example",
  "x-forwarded-proto": "https",
  forwarded: "for=10.0.0.1;host=evil.example",
  "x-real-ip": "10.0.0.1",
  "x-original-url": "/api/v1/api_keys",
  "x-rewrite-url": "/api/v1/api_keys",
  "x-http-method-override": "GET",
  "x-method-override": "DELETE",
  "openai-organization": "org-abc",
  "openai-project": "proj_abc",
  "openai-beta": "assistants=v2",
  "x-api-key": "sk-other",
  "api-key": "sk-other",
  "proxy-authorization": "Bearer other",
  "x-portkey-custom-host": "http://127.0.0.1:9/",
  "x-portkey-provider": "evil",
  "x-portkey-api-key": "other",
  "x-stainless-lang": "js",
  "x-venice-version": "evil",
  "x-sign-in-with-x": "evil",
  "accept-language": "xx",
  referer: "https://evil.example/",
  origin: "https://evil.example",
  "user-agent": "evil-agent/1.0",
  te: "trailers",
  via: "1.1 evil",
  connection: "authorization, content-type, x-portkey-provider",
  "x-request-id": "req_of_theirs",
  range: "bytes=0-1",
  "if-none-match": "*",
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};

describe("a request to the provider", () => {
  test("has our headers and nothing of the client's, on every route", async () => {
    for (const [path, makeBody] of Object.entries(routes)) {
      const account = await stack.account(USD);
      const tag = `headers-of-${path}`;
      assert.equal((await ask(account, path, makeBody(tag))).status, 200);
      const answer = await ask(account, path, makeBody(tag), intruders);
      assert.equal(answer.status, 200, answer.text);
      assertClean(answer, path);
      assert.notEqual(answer.headers["x-request-id"], "req_of_theirs");
      const [plain, intruded] = providerRecords(stack, tag);
      assert.ok(plain !== undefined && intruded !== undefined);
      assert.deepEqual(named(intruded.headers), named(plain.headers), "the client's headers changed something");
      assert.equal(intruded.body, plain.body);
      assert.equal(intruded.path, plain.path);
      const names = Object.keys(named(intruded.headers)).sort();
      assert.deepEqual(names, [
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
      ]);
      assert.ok(intruded.equalsMasterKey);
      const seen = JSON.stringify([intruded.headers, intruded.body]);
      assertNoSecret(seen, account.key.slice(3), "the provider's request");
      assert.ok(!seen.toLowerCase().includes(account.address.slice(2)), "the provider sees the address");
    }
  });

  test("names the account by a pseudonym that is its own and always the same", async () => {
    const accounts = { one: await stack.account(USD), two: await stack.account(USD) };
    const users = new Map<string, Set<unknown>>();
    for (const path of [
      "/v1/chat/completions",
      "/api/v1/chat/completions",
      "/v1/embeddings",
      "/v1/images/generations",
    ]) {
      for (const [name, account] of Object.entries(accounts)) {
        const tag = `user-${name}-${path}`;
        const answer = await ask(account, path, { ...routes[path]?.(tag), user: "their own name" });
        assert.equal(answer.status, 200, answer.text);
        assert.match(String(answer.headers["x-ignored-parameters"]), /\buser\b/);
        const body = JSON.parse(providerRecords(stack, tag)[0]?.body ?? "{}") as { user?: unknown };
        users.set(name, (users.get(name) ?? new Set()).add(body.user));
      }
    }
    const [[one, ...others] = [], [two] = []] = [...users.values()].map((set) => [...set]);
    assert.deepEqual(others, []);
    assert.match(String(one), /^[0-9a-z]{24}$/);
    assert.notEqual(one, two);
  });

  test("has a body of ours: fields that were dropped are not in it, and the hidden prompt is switched off", async () => {
    const tag = "body-of-ours";
    const extra = { user: "me", metadata: { a: "b" }, store: false, service_tier: "auto", safety_identifier: "x" };
    const answer = await ask(await stack.account(USD), "/v1/chat/completions", {
      ...routes["/v1/chat/completions"]?.(tag),
      ...extra,
    });
    assert.equal(answer.status, 200, answer.text);
    const ignored = String(answer.headers["x-ignored-parameters"]).split(", ").sort();
    assert.deepEqual(ignored, Object.keys(extra).sort());
    const body = JSON.parse(providerRecords(stack, tag)[0]?.body ?? "{}") as Record<string, unknown>;
    assert.deepEqual(Object.keys(body).sort(), [
      "max_completion_tokens",
      "messages",
      "model",
      "stream",
      "user",
      "venice_parameters",
    ]);
    assert.deepEqual(body.venice_parameters, { include_venice_system_prompt: false });
  });

  test("is never made by a header that pretends to another method or path", async () => {
    const account = await stack.account(USD);
    const before = stack.simulator.simulator.records.select(() => true, 100_000).length;
    const headers = { authorization: `Bearer ${account.key}`, ...intruders, "x-http-method-override": "POST" };
    const answer = await sendHttp(stack.url, { path: "/v1/chat/completions", method: "GET", headers });
    assertError(answer, 405, "method_not_allowed");
    assert.equal((await sendHttp(stack.url, { path: "/v1/models", headers })).status, 200);
    assert.equal(stack.simulator.simulator.records.select(() => true, 100_000).length, before);
  });
});

function named(flat: readonly string[] | null): Record<string, string> {
  const found: Record<string, string> = {};
  for (let index = 0; index + 1 < (flat ?? []).length; index += 2) {
    found[flat?.[index]?.toLowerCase() ?? ""] = flat?.[index + 1] ?? "";
  }
  return found;
}

describe("a client that expects 100-continue", () => {
  test("is told to continue and is served", async () => {
    const account = await stack.account(USD);
    const body = JSON.stringify(routes["/v1/chat/completions"]?.("continue"));
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${account.key}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        expect: "100-continue",
      };
      const outgoing = request(
        `${stack.url}/v1/chat/completions`,
        { method: "POST", headers, agent: false },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      );
      outgoing.on("continue", () => outgoing.end(body));
      outgoing.on("error", reject);
    });
    assert.equal(status, 200);
    assert.ok(await eventually(() => providerRecords(stack, "continue").length > 0));
  });
});
