import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { FAULTS } from "@inference/provider-simulator/faults";
import { assertError } from "../assert-error.ts";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { sendHttp, type WireAnswer } from "../http-client.ts";
import { providerRecords } from "../settlement/audit.ts";
import { typicalFaults } from "../settlement/faulty-settlements.ts";

const USD = 1_000_000_000;

export const routes: Record<string, (text: string) => object> = {
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

/** Outside the deep run only a streamed chat has every fault: the others have one for each outcome. */
function isTried(fault: string, path: string): boolean {
  if (process.env.DEEP === "1" || path.startsWith("/api/") || typicalFaults.has(fault)) return true;
  return /image|speech/.test(FAULTS[fault]?.stage ?? "") || fault === "401-key-in-body";
}

/** The headers that an answer may have. */
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
  "x-balance-usd",
  "x-ignored-parameters",
  "x-receipt",
  "x-request-id",
  "x-should-retry",
]);
const ofTheProvider =
  /venice|cloudflare|cf-ray|__cf|diem|top-?up|inference-7f9c|sim-router|127\.0\.0\.1|api settings|spend limit/i;

/** The secret in whole, in part, and as other encodings write it. */
export function assertNoSecret(text: string, secret: string, where: string): void {
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

/** Attempts of a client to reach the provider with its own values. */
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
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01, evil",
  tracestate: "evil=1",
};

function named(flat: readonly string[] | null): Record<string, string> {
  const found: Record<string, string> = {};
  for (let index = 0; index + 1 < (flat ?? []).length; index += 2) {
    found[flat?.[index]?.toLowerCase() ?? ""] = flat?.[index + 1] ?? "";
  }
  return found;
}

/** A signed receipt's contents, in place of the signature, which may have any letters. */
function readable(text: string): string {
  const [, receipt] = /^ey[\w-]+\.([\w-]+)\.[\w-]+$/.exec(text) ?? [];
  return receipt === undefined ? text : Buffer.from(receipt, "base64url").toString();
}

/** Between a client and the provider passes what was meant to pass, and nothing else, in either direction. */
export function testSecrets(start: StartHost): void {
  describe("between a client and the provider", () => {
    // 14 minutes are 3.4 s: faults that never end do.
    const host = hostFor(
      start,
      { hurry: 250 },
      { simulator: { errorBudget: null, slowDripMs: 1, largeImageBytes: 100_000 } },
    );

    function assertClean(answer: WireAnswer, where: string): void {
      // Signed receipts name the gateway's own address, which here looks like the provider's.
      const head = `${answer.statusMessage}\n${answer.rawHeaders.map(readable).join("\n")}`.replaceAll(host.url, "");
      assertNoSecret(head, host.simulator.simulator.masterKey, where);
      assertNoSecret(answer.bytes.toString("latin1"), host.simulator.simulator.masterKey, where);
      assert.doesNotMatch(head, ofTheProvider, where);
      for (const name of Object.keys(answer.headers)) assert.ok(allowedHeaders.has(name), `${where}: ${name} passed`);
      if (answer.status !== 200) assert.doesNotMatch(answer.text, ofTheProvider, where);
    }

    async function ask(
      account: TestAccount,
      path: string,
      body: object,
      more: Record<string, string> = {},
    ): Promise<WireAnswer> {
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...more };
      return sendHttp(host.url, { path, body: JSON.stringify(body), headers });
    }

    // Before the faults: a provider that has refused one request is left alone for a while.
    describe("a request to the provider", () => {
      test("has the client's place in its trace, if that is well formed", async () => {
        const [path, traceparent] = ["/v1/chat/completions", `00-${"a1".repeat(16)}-${"b2".repeat(8)}-01`];
        const tracestate = "vendor=a b,tenant@system=1";
        const cases: [sent: Record<string, string>, passed: Record<string, string>][] = [
          [
            { traceparent, tracestate },
            { traceparent, tracestate },
          ],
          ...["vendor", "Vendor=1", "vendor=a=b", "vendor=\u00e9", "vendor=1,", `v=${"1".repeat(511)}`].map(
            (tracestate): (typeof cases)[0] => [{ traceparent, tracestate }, { traceparent }],
          ),
          [{ tracestate }, {}],
          ...[
            traceparent.toUpperCase(),
            `${traceparent}-more`,
            `${traceparent}, ${traceparent}`,
            traceparent.replace("00", "01"),
            traceparent.replace(/a1/g, "00"),
            traceparent.replace(/b2/g, "00"),
            "",
          ].map((wrong): (typeof cases)[0] => [{ traceparent: wrong, tracestate }, {}]),
        ];
        const account = await host.account(USD);
        for (const [index, [sent, passed]] of cases.entries()) {
          const tag = `trace number ${index}.`;
          assert.equal((await ask(account, path, routes[path]?.(tag) ?? {}, sent)).status, 200);
          const got = named(providerRecords(host, tag)[0]?.headers ?? null);
          const names = ["traceparent", "tracestate"].filter((name) => name in got);
          assert.deepEqual(Object.fromEntries(names.map((name) => [name, got[name]])), passed, JSON.stringify(sent));
        }
      });

      test("has our headers and nothing of the client's, on every route", async () => {
        for (const [path, makeBody] of Object.entries(routes)) {
          const account = await host.account(USD);
          const tag = `headers-of-${path}`;
          assert.equal((await ask(account, path, makeBody(tag))).status, 200);
          const answer = await ask(account, path, makeBody(tag), intruders);
          assert.equal(answer.status, 200, answer.text);
          assertClean(answer, path);
          assert.notEqual(answer.headers["x-request-id"], "req_of_theirs");
          const [plain, intruded] = providerRecords(host, tag);
          assert.ok(plain !== undefined && intruded !== undefined);
          assert.deepEqual(named(intruded.headers), named(plain.headers), "the client's headers changed something");
          assert.equal(intruded.body, plain.body);
          assert.equal(intruded.path, plain.path);
          // How it keeps its connections is the host's.
          const names = Object.keys(named(intruded.headers)).filter((name) => name !== "connection");
          assert.deepEqual(names.sort(), [
            "accept",
            "accept-encoding",
            "authorization",
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
        const accounts = { one: await host.account(USD), two: await host.account(USD) };
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
            const body = JSON.parse(providerRecords(host, tag)[0]?.body ?? "{}") as { user?: unknown };
            users.set(name, (users.get(name) ?? new Set()).add(body.user));
          }
        }
        const [[one, ...others] = [], [two] = []] = [...users.values()].map((set) => [...set]);
        assert.deepEqual(others, []);
        assert.match(String(one), /^[0-9a-z]{24}$/);
        assert.notEqual(one, two);
      });

      test("has one line in the access log, with its model and cost, and nothing of its content or account", async () => {
        const account = await host.account(USD);
        for (const [path, makeBody] of Object.entries({ ...routes, "/v1/responses": (_: string) => ({}) })) {
          const answer = await ask(account, path, makeBody(`access-of-${path}`));
          const id = String(answer.headers["x-request-id"]);
          const [line, ...more] = await eventually(async () => {
            const lines = await host.said(id);
            const found = lines.filter(({ event, request }) => event === "access" && request === id);
            return found.length > 0 && found;
          });
          assert.deepEqual(more, []);
          const { at: _, ms, model, costNanoUsd, ...rest } = line ?? assert.fail();
          const code = answer.status === 200 ? null : "invalid_request";
          const request = { level: "info", event: "access", request: id };
          assert.deepEqual(rest, { ...request, route: `POST ${path}`, status: answer.status, code });
          assert.ok(Number(ms) >= 0);
          const { model: asked = null } = makeBody("") as { model?: string };
          assert.deepEqual([model, Number(costNanoUsd) > 0], [asked, asked !== null]);
        }
      });

      test("has a body of ours: fields that were dropped are not in it, and the hidden prompt is switched off", async () => {
        const tag = "body-of-ours";
        const extra = { user: "me", metadata: { a: "b" }, store: false, service_tier: "auto", safety_identifier: "x" };
        const answer = await ask(await host.account(USD), "/v1/chat/completions", {
          ...routes["/v1/chat/completions"]?.(tag),
          ...extra,
        });
        assert.equal(answer.status, 200, answer.text);
        const ignored = String(answer.headers["x-ignored-parameters"]).split(", ").sort();
        assert.deepEqual(ignored, Object.keys(extra).sort());
        const body = JSON.parse(providerRecords(host, tag)[0]?.body ?? "{}") as Record<string, unknown>;
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
        const account = await host.account(USD);
        // The prices are read from the provider in between, with a GET.
        const forwarded = () =>
          host.simulator.simulator.records.select(({ method }) => method === "POST", 100_000).length;
        const before = forwarded();
        const headers = { authorization: `Bearer ${account.key}`, ...intruders, "x-http-method-override": "POST" };
        const answer = await sendHttp(host.url, { path: "/v1/chat/completions", method: "GET", headers });
        assertError(answer, 405, "method_not_allowed");
        assert.equal((await sendHttp(host.url, { path: "/v1/models", headers })).status, 200);
        assert.equal(forwarded(), before);
      });
    });

    describe("the key to the provider", () => {
      for (const [path, makeBody] of Object.entries(routes)) {
        test(`is in no byte that POST ${path} answers with and in no line of a log, whatever happens`, async () => {
          const prompts: string[] = [];
          const payers: TestAccount[] = [];
          const good = await Promise.all(
            ["", ...Object.keys(FAULTS).filter((fault) => isTried(fault, path))].map(async (fault) => {
              const account = await host.account(USD);
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
          const logged = JSON.stringify(await host.said(""));
          assert.ok(logged.length > 100);
          assertNoSecret(logged, host.simulator.simulator.masterKey, "the log");
          for (const { key } of payers) assertNoSecret(logged, key.slice(20), "the log");
          for (const prompt of prompts) assert.ok(!logged.includes(prompt), `the log shows ${prompt}`);
        });
      }
      test("was in the provider's own words, so that the tests above could fail", async () => {
        const answer = await fetch(`${host.simulator.url}/chat/completions`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${host.simulator.simulator.masterKey}`,
            "content-type": "application/json",
          },
          body: JSON.stringify({ model: "fault-401-key-in-body", messages: [{ role: "user", content: "x" }] }),
        });
        assert.ok((await answer.text()).includes(host.simulator.simulator.masterKey));
      });
    });
  });
}
