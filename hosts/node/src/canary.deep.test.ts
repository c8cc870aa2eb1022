import assert from "node:assert/strict";
import { request } from "node:http";
import { mock, test } from "node:test";
import { inspect } from "node:util";
import { sendHttp } from "@inference/gateway/test/http-client";
import { providerRecords } from "@inference/gateway/test/settlement/audit";
import { startStubProvider } from "@inference/gateway/test/settlement/stub-provider";
import { assertNoSecret, routes } from "@inference/gateway/test/suites/secrets";
import { eventually } from "@inference/protocol/testing/eventually";
import { startStack } from "./testing/stack.ts";

/** Cases of `suites/secrets.ts` too large for a Worker or handled by its runtime. */
const USD = 1_000_000_000;
const allStatuses = [300, 307, 400, 401, 402, 403, 404, 409, 413, 415, 418, 422, 429, 500, 502, 503, 504];
const isDeep = process.env.DEEP === "1";
/** Outside the deep run some of them, each with one shape of an error and one form of an answer. */
const statuses = allStatuses.filter((_, index) => isDeep || index % 4 === 0);
const some = <T>(all: T[], turn: number): T[] => (isDeep ? all : all.filter((_, index) => index === turn % all.length));
const consoleMethods = ["debug", "error", "info", "log", "warn"] as const;

test("the key to the provider is cut out of whatever a provider says that repeats it everywhere", async () => {
  const printed: string[] = [];
  for (const method of consoleMethods) {
    mock.method(console, method, (...values: unknown[]) =>
      printed.push(values.map((value) => inspect(value)).join(" ")),
    );
  }
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
    ...statuses.flatMap((status, turn) =>
      some(shapes, turn).map((shape): [number, string, string] => [status, "application/json", JSON.stringify(shape)]),
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
    ...writings(beside.canary).flatMap((written, turn) => {
      const forms: [number, string, string][] = [
        [200, "text/event-stream", repeatingStream(written)],
        [200, "application/json", repeatingAnswer(written)],
        [200, "application/json", repeatingAnswer(written, 500_000)],
        [400, "application/json", JSON.stringify({ error: { message: `the key ${written} is bad` } })],
      ];
      return some(forms, turn);
    }),
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
      const answer = await sendHttp(beside.url, {
        path,
        body: JSON.stringify(asked),
        headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      });
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
  mock.restoreAll();
  await beside.stop();
  await provider.stop();
});

/** As an encoder might write it that a provider's words went through. */
function writings(secret: string): string[] {
  const code = (letter: string): string => letter.charCodeAt(0).toString(16).padStart(2, "0");
  return [
    [...secret].map((letter) => `%${code(letter)}`).join(""),
    secret.replace(/[^A-Za-z0-9]/g, (letter) => `%${code(letter)}`),
    [...secret].map((letter) => `\\u00${code(letter)}`).join(""),
  ];
}

/** A whole answer that repeats the key in every field of a chat and of images. */
function repeatingAnswer(key: string, size = 10): string {
  const filling = "x y ".repeat(size / 4);
  const error = `{"message":"Incorrect API key provided: ${key}"}`;
  const said = `"said ${key}":"${key}","error":${error},"finish_reason":"${key}"`;
  const choice = `{"index":0,"message":{"role":"assistant","content":"${filling}${key}${filling}"},${said}}`;
  const image = `{"b64_json":"aGk=","url":"https://x/${key}","revised_prompt":"${filling}${key}","note":["${key}"]}`;
  return `{"id":"1","choices":[${choice},${image}],"data":[${image}],"images":["aGk=",${image},"${filling}${key}"]}`;
}

/** A whole stream that repeats the key in every field. */
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

test("a client that expects 100-continue is told to continue and is served", async () => {
  const stack = await startStack();
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
  await stack.stop();
});
