import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { afterEach, before, describe, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { makeCredentials } from "../../src/auth/credentials.ts";
import { assertError, type WireError } from "../assert-error.ts";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { sendBytes, sendHttp, type WireAnswer, type WireRequest } from "../http-client.ts";

/**
 * Every way to ask wrongly, through real HTTP: an error of the table each, nothing held, nothing charged, nothing
 * forwarded.
 */
const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";
const ROUTES = ["chat/completions", "embeddings", "images/generations", "image/generate", "audio/speech"];

export function testBadInput(start: StartHost): void {
  describe("a request that is wrong", () => {
    const host = hostFor(start);
    let account: TestAccount;
    before(async () => {
      account = await host.account(USD);
    });

    function forwarded(): number {
      return host.simulator.simulator.records.select(({ method }) => method === "POST", 100_000).length;
    }

    /** No bad input changed a balance. */
    afterEach(async () => {
      const { settledNanoUsd, heldNanoUsd } = await host.balance(account.address);
      assert.deepEqual([settledNanoUsd, heldNanoUsd], [0, 0]);
      assert.deepEqual(await host.rows("receipt", accountPartition(account.address)), []);
    });

    /** Fails if the request reached the provider. */
    async function untouched<T>(act: () => Promise<T>): Promise<T> {
      const before = forwarded();
      const result = await act();
      assert.equal(forwarded(), before, "the provider saw it");
      return result;
    }

    function post(path: string, body: string | Uint8Array, more: Partial<WireRequest> = {}): Promise<WireAnswer> {
      const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
      return sendHttp(host.url, { path, body, headers, ...more });
    }

    async function refused(path: string, body: unknown, status: number, code: string): Promise<WireError> {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      return untouched(async () => assertError(await post(path, text), status, code));
    }

    const chat = { model: "sim-small", messages: [{ role: "user", content: "hello" }], max_tokens: 10 };

    describe("a body", () => {
      test("that is no JSON object, or has a key twice, is an invalid request on every route", async () => {
        const bodies = ["", JSON.stringify(chat).slice(0, -3), "[]", `{"model":"sim-small","model":"sim-dear"}`];
        bodies.push(`{"model":"sim-small","messages":${"[".repeat(100_000)}${"]".repeat(100_000)}}`);
        for (const body of bodies) {
          for (const route of ROUTES) {
            await refused(`/v1/${route}`, body, 400, "invalid_request");
            await refused(`/api/v1/${route}`, body, 400, "invalid_request");
          }
        }
      });

      // Below 1 MiB, above which the edge reads no body.
      test("with hundreds of thousands of keys is refused", async () => {
        const keys = Array.from({ length: 100_000 }, (_, index) => `"k${index.toString(36)}":0`);
        await refused(CHAT, `{"model":"sim-small",${keys.join(",")}}`, 400, "invalid_request");
        const objects = `{"model":"sim-small","messages":[${"{},".repeat(300_000)}{}]}`;
        await refused(CHAT, objects, 400, "invalid_request");
      });

      test("cannot reach a prototype", async () => {
        for (const key of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
          await refused(
            CHAT,
            `{"${key}":{"model":"sim-dear"},${JSON.stringify(chat).slice(1)}`,
            400,
            "unsupported_parameter",
          );
          await refused(CHAT, { ...chat, model: key }, 404, "model_not_found");
        }
        assert.equal(({} as Record<string, unknown>).model, undefined);
      });

      test("of bytes that are not UTF-8 is an invalid request", async () => {
        const text = JSON.stringify({ ...chat, messages: [{ role: "user", content: "XX" }] });
        for (const bytes of ["fffe", "c080", "eda080", "c3"]) {
          const body = Buffer.concat([
            Buffer.from(text.split("XX")[0] ?? ""),
            Buffer.from(bytes, "hex"),
            Buffer.from('"}]}'),
          ]);
          await untouched(async () => assertError(await post(CHAT, body), 400, "invalid_request"));
        }
        const utf16 = Buffer.from(text, "utf16le");
        await untouched(async () => assertError(await post(CHAT, utf16), 400, "invalid_request"));
      });

      test("announced as too large is refused before it is sent", async () => {
        const head = `POST ${CHAT} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\nauthorization: Bearer ${account.key}\r\n`;
        const text = await untouched(() =>
          sendBytes(host.url, `${head}content-type: application/json\r\ncontent-length: 999999999999\r\n\r\n{`),
        );
        assert.match(text, /^HTTP\/1\.1 413 /);
        assert.match(text, /"code":"request_too_large"/);
      });

      test("of another media type, or without one, is refused", async () => {
        const authorization = `Bearer ${account.key}`;
        for (const type of [
          "text/plain",
          "application/x-www-form-urlencoded",
          "multipart/form-data; boundary=x",
          "application/jsonx",
          "json",
          "",
        ]) {
          const headers = { authorization, "content-type": type };
          const answer = await untouched(() => post(CHAT, JSON.stringify(chat), { headers }));
          assertError(answer, 415, "unsupported_media_type");
        }
        const answer = await untouched(() => post(CHAT, JSON.stringify(chat), { headers: { authorization } }));
        assertError(answer, 415, "unsupported_media_type");
      });

      test("with an encoding that nobody decodes is refused", async () => {
        for (const encoding of ["deflate", "identity, gzip", "chunked", "constructor"]) {
          const headers = {
            authorization: `Bearer ${account.key}`,
            "content-type": "application/json",
            "content-encoding": encoding,
          };
          const answer = await untouched(() => post(CHAT, JSON.stringify(chat), { headers }));
          assertError(answer, 415, "unsupported_media_type");
        }
      });
    });

    test("a query member that comes twice is refused on each route that reads the query", async () => {
      const routes = {
        "/api/v1/keys/message": "limit",
        "/api/v1/activity": "limit",
        "/api/v1/statements": "limit",
        "/api/v1/statements/uses": "limit",
        "/api/v1/reconciliations": "limit",
        "/api/v1/generation": "id",
        "/api/v1/models": "client_version",
        "/api/v1/models/traits": "type",
        "/api/v1/models/compatibility_mapping": "type",
      };
      const headers = { authorization: `Bearer ${account.key}` };
      for (const [path, name] of Object.entries(routes)) {
        const answer = await sendHttp(host.url, { path: `${path}?${name}=1&${name}=2`, headers });
        const { param } = assertError(answer, 400, "invalid_request");
        assert.equal(param, name, path);
      }
      const page = await sendHttp(host.url, { path: "/?node=a&node=b", headers: { accept: "text/html" } });
      assertError(page, 400, "invalid_request");
    });

    test("a query member with a name of Object's prototype is refused as unknown", async () => {
      const headers = { authorization: `Bearer ${account.key}` };
      for (const name of ["constructor", "__proto__", "toString"]) {
        const answer = await sendHttp(host.url, { path: `/api/v1/activity?${name}=1`, headers });
        assertError(answer, 400, "unsupported_parameter");
      }
    });

    describe("a field", () => {
      const wrong: [path: string, body: object, status: number, code: string, param: string][] = [
        [CHAT, { ...chat, model: 7 }, 400, "invalid_request", "model"],
        [CHAT, { ...chat, messages: [{ role: "user", content: 7 }] }, 400, "invalid_request", "messages[0].content"],
        [CHAT, { ...chat, model: "sim-embedding" }, 400, "invalid_request", "model"],
        [CHAT, { ...chat, max_tokens: 16_385 }, 400, "invalid_request", "max_tokens"],
        [CHAT, { ...chat, service_tier: "priority" }, 400, "unpriced_option", "service_tier"],
        [CHAT, { ...chat, tools: [{ type: "web_search" }] }, 400, "unpriced_option", "tools[0].type"],
        [CHAT, { ...chat, never_heard_of: 1 }, 400, "unsupported_parameter", "never_heard_of"],
        [CHAT, { ...chat, model: "sim-small:online" }, 400, "unsupported_parameter", "model"],
        ["/v1/embeddings", { model: "sim-embedding", input: [1, 2, 3] }, 400, "invalid_request", "input"],
        ["/v1/images/generations", { model: "sim-image", prompt: "x", size: "1x1" }, 400, "invalid_request", "size"],
        ["/v1/images/generations", { model: "sim-image", prompt: "x", n: 2 }, 400, "unsupported_parameter", "n"],
        ["/v1/image/generate", { model: "sim-image", prompt: "x", variants: 5 }, 400, "invalid_request", "variants"],
        ["/v1/audio/speech", { model: "sim-speech", input: "x".repeat(1_000_000) }, 400, "invalid_request", "input"],
        ...["nobody", "SIM-SMALL", "sim-small ", "sim-unpriced", "sim-video", "../sim-small", "sim-small\u0000"].map(
          (model): [string, object, number, string, string] => [
            CHAT,
            { ...chat, model },
            404,
            "model_not_found",
            "model",
          ],
        ),
      ];
      test("that is wrong, priced by nobody or unknown is refused by name, and so is a model that is not served", async () => {
        for (const [path, body, status, code, param] of wrong) {
          assert.equal((await refused(path, body, status, code)).param, param);
        }
      });
    });

    describe("max_tokens", () => {
      async function trying(key: string, body: object): Promise<WireAnswer> {
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
        return post(CHAT, JSON.stringify(body), { headers });
      }
      const prompt = { model: "sim-small", messages: [{ role: "user", content: "how much?" }] };

      test("left out, it reserves the model's maximum; what a 402 says can be afforded works, and one more does not", async () => {
        for (const [model, balance] of [
          ["sim-small", 7_531_246],
          ["sim-large", 123_456_789],
          ["sim-noisy", 1_300_007],
          ["sim-fine", 12_345_671],
        ] as const) {
          const { key } = await host.account(balance);
          const body = { ...prompt, model };
          const { metadata, param } = assertError(await trying(key, body), 402, "insufficient_balance");
          assert.equal(param, "max_tokens");
          assert.ok(Number(metadata?.needed_nano_usd) > balance);
          assert.equal(metadata?.available_nano_usd, balance);
          const affordable = Number(metadata?.max_affordable_tokens);
          assert.ok(affordable >= 10_000, `${affordable}: the same number of digits as the maximum`);
          const more = assertError(
            await trying(key, { ...body, max_tokens: affordable + 1 }),
            402,
            "insufficient_balance",
          );
          assert.equal(more.metadata?.max_affordable_tokens, affordable);
          assert.equal((await trying(key, { ...body, max_tokens: affordable })).status, 200);
        }
      });

      test("what can be afforded is afforded, also by far smaller balances and by many choices", async () => {
        for (const balance of [200_000, 500_001, 2_000_003]) {
          const { key } = await host.account(balance);
          const body = { ...prompt, n: 3 };
          const { metadata } = assertError(await trying(key, body), 402, "insufficient_balance");
          const affordable = Number(metadata?.max_affordable_tokens);
          assert.ok(affordable > 0);
          assert.equal((await trying(key, { ...body, max_tokens: affordable })).status, 200, String(affordable));
        }
      });

      test("a balance that does not cover the prompt affords no token", async () => {
        const { key } = await host.account(1);
        const { metadata, message } = assertError(await trying(key, prompt), 402, "insufficient_balance");
        assert.equal(metadata?.max_affordable_tokens, 0);
        assert.doesNotMatch(message, /max_tokens of at most/);
        assertError(await trying(key, { ...prompt, max_tokens: 1 }), 402, "insufficient_balance");
        assert.equal((await trying(key, { ...prompt, model: "sim-free" })).status, 200, "zero is a price");
      });
    });

    describe("a credential", () => {
      const call = (headers: readonly string[], path = CHAT): Promise<WireAnswer> =>
        sendHttp(host.url, {
          path,
          ...(path === CHAT ? { body: JSON.stringify(chat) } : {}),
          headers: ["content-type", "application/json", ...headers],
        });
      async function refusedAs(headers: readonly string[], code: string, status = 401): Promise<void> {
        await untouched(async () => {
          assertError(await call(headers), status, code);
          // A client that tries its key by listing the models learns the same. An empty header is none there.
          if (headers.some((header) => header.includes(" ")))
            assertError(await call(headers, "/v1/models"), status, code);
        });
      }

      test("that is missing or no bearer token is missing", async () => {
        await refusedAs([], "missing_credentials");
        for (const value of [
          "",
          "Bearer",
          "Bearer ",
          "Basic dXNlcjpwYXNz",
          account.key,
          `Token ${account.key}`,
          `Bearer ${account.key} x`,
        ]) {
          await refusedAs(["authorization", value], "missing_credentials");
        }
        await refusedAs(["authorization", `Bearer ${"x".repeat(10_000)}`], "missing_credentials");
      });

      test("in another place than its header is missing", async () => {
        for (const path of [`${CHAT}?key=${account.key}`, `${CHAT}?api_key=${account.key}`]) {
          const headers = ["content-type", "application/json"];
          const answer = await untouched(() => sendHttp(host.url, { path, body: JSON.stringify(chat), headers }));
          assertError(answer, 401, "missing_credentials");
        }
        await untouched(async () =>
          assertError(await call(["cookie", `key=${account.key}`]), 401, "missing_credentials"),
        );
      });

      test("sent twice is refused, also twice the same", async () => {
        const other = await host.account(USD);
        for (const second of [other.key, account.key]) {
          const headers = ["authorization", `Bearer ${account.key}`, "authorization", `Bearer ${second}`];
          await untouched(async () => assert.equal((await call(headers)).status, 401));
        }
      });

      test("with one letter changed anywhere, cut or prolonged is not one of ours", async () => {
        const { key } = account;
        const swap = (index: number): string => {
          const letter = key[index] === "a" ? "b" : "a";
          return key.slice(0, index) + letter + key.slice(index + 1);
        };
        const wrong = [3, 10, 34, 40, 60, 70, 80, key.length - 1].map(swap);
        wrong.push(
          key.slice(0, -1),
          key.slice(0, 40),
          `${key}a`,
          key.toUpperCase(),
          `sk-${key}`,
          "ik_",
          "garbage",
          "null",
        );
        for (const text of wrong) await refusedAs(["authorization", `Bearer ${text}`], "invalid_api_key");
      });

      test("made under another secret, of our form, is not one of ours", async () => {
        const secret = makeCredentials(randomBytes(32), { bytes: (length) => randomBytes(length) });
        await refusedAs(["authorization", `Bearer ${secret.issue("ik", account.address).text}`], "invalid_api_key");
      });

      test("of ours that no account knows is not valid", async () => {
        const { text } = host.credentials.issue("ik", account.address);
        await refusedAs(["authorization", `Bearer ${text}`], "invalid_api_key");
        const session = host.credentials.issue("is", account.address);
        await refusedAs(["authorization", `Bearer ${session.text}`], "invalid_session");
        await refusedAs(["authorization", "Bearer is_garbage"], "invalid_session");
        const turned = account.key.replace(/^ik/, "is");
        await refusedAs(["authorization", `Bearer ${turned}`], "invalid_session");
      });

      test("in any case of the word bearer, with blanks or a tab, is good", async () => {
        const good = await host.account(USD);
        for (const prefix of ["bearer ", "BEARER ", "Bearer   ", "Bearer\t"]) {
          const answer = await call(["authorization", `${prefix}${good.key}`]);
          assert.equal(answer.status, 200, prefix);
        }
      });
    });

    describe("a path", () => {
      test("OPTIONS allows any origin the headers it asks for, and never credentials", async () => {
        for (const path of [CHAT, "/api/v1/models", "/auth", "/nowhere"]) {
          const headers = {
            origin: "https://app.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type, x-stainless-os",
          };
          const answer = await untouched(() => sendHttp(host.url, { path, method: "OPTIONS", headers }));
          assert.equal(answer.status, 204);
          assert.equal(answer.headers["access-control-allow-origin"], "*");
          assert.equal(answer.headers["access-control-allow-headers"], "authorization, content-type, x-stainless-os");
          assert.match(answer.headers["access-control-allow-methods"] ?? "", /POST/);
          assert.equal(answer.headers["access-control-allow-credentials"], undefined);
          assert.match(String(answer.headers["x-request-id"]), /^req_/);
          assert.equal(answer.bytes.length, 0);
        }
      });

      test("of a model that is not served is a model not found", async () => {
        for (const id of ["nobody", "sim-unpriced", "sim-video", "__proto__", "constructor", "%00", "%3Cscript%3E"]) {
          assertError(await sendHttp(host.url, { path: `/v1/models/${id}` }), 404, "model_not_found");
        }
      });

      test("with a query that nobody reads is the same path", async () => {
        const answer = await sendHttp(host.url, { path: "/v1/models?x=%3Cscript%3E&type=all" });
        assert.equal(answer.status, 200);
        assert.ok(!answer.text.includes("<script>"));
      });
    });
  });
}
