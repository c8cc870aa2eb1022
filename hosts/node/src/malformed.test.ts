import assert from "node:assert/strict";
import { connect } from "node:net";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertError } from "@inference/gateway/test/assert-error";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendBytes, sendHttp } from "@inference/gateway/test/http-client";
import { type Stack, startStack, type TestAccount } from "./testing/stack.ts";

/** Malformed requests and timeouts that a Worker's runtime handles itself. */
const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";

let account: TestAccount;
const stack = hostFor(
  startStack,
  {},
  {
    check: async ({ simulator }) => {
      const paid = simulator.simulator.records.select(({ method }) => method === "POST", 1);
      assert.deepEqual(paid, [], "the provider saw one");
    },
  },
);
before(async () => {
  account = await stack.account(USD);
});

test("a late body is a timeout, and one that breaks off harms no other request", async () => {
  await using hurried = await startStack({ hurry: 50 });
  const { key } = await hurried.account(USD);
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n`;
  const json = "content-type: application/json\r\n";
  for (const framing of ["content-length: 100", "transfer-encoding: chunked"]) {
    const text = await sendBytes(hurried.url, `${head}${json}${framing}\r\n\r\n`);
    assert.match(text, /^HTTP\/1\.1 408 /);
    assert.match(text, /"code":"request_timeout"/);
    assert.match(text, /x-should-retry: true/i);
  }
  for (const framing of ["content-length: 100", "transfer-encoding: chunked"]) {
    const chunk = framing.startsWith("content") ? '{"model":' : '9\r\n{"model":\r\n';
    await leave(hurried, `${head}${json}${framing}\r\n\r\n${chunk}`);
  }
  assert.deepEqual(
    hurried.logged.filter(({ level }) => level === "alert"),
    [],
    "a client can wake the operator",
  );
});
/** Sends half of a request and goes. */
async function leave(on: Stack, bytes: string): Promise<void> {
  const socket = connect(Number(new URL(on.url).port), "127.0.0.1");
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  await sleep(50);
  socket.destroy();
  await sleep(50);
}

test("a path that can be shortened to one of ours is not found as it is written", async () => {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  for (const path of [
    "/v1/x/../chat/completions",
    "/./v1/models",
    "/v1/%2E/chat/completions",
    "/v1/x/%2e%2E/models?a=b",
    "/v1/../api/v1/billing/balance",
    "/v1/%2e%2e/api/v1/api_keys",
    "/v1/models/../api_keys",
    "/v1/chat/../files",
    "/v1/%2e%2e/__simulator/config",
  ]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      const body = method === "POST" ? { body: "{}" } : {};
      assertError(await sendHttp(stack.url, { path, method, headers, ...body }), 404, "not_found");
    }
  }
});

describe("a request that is no HTTP of ours", () => {
  test("is answered with an error as every error is, or not at all", async () => {
    const requests = {
      "without a host": "GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n",
      "with a host that is none": "GET /v1/models HTTP/1.1\r\nhost: a b/c\r\nconnection: close\r\n\r\n",
      "with a host of letters that no host has": "GET /v1/models HTTP/1.1\r\nhost: <>\r\nconnection: close\r\n\r\n",
      "with headers without end": `GET /v1/models HTTP/1.1\r\nhost: gateway\r\nx-long: ${"x".repeat(50_000)}\r\n\r\n`,
      "that is another protocol": "\x16\x03\x01\x02\x00\x01",
      "with a whole address that is none":
        "GET http://[/v1/models HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n",
    };
    for (const [name, bytes] of Object.entries(requests)) {
      const text = await sendBytes(stack.url, bytes);
      assert.match(text, /^HTTP\/1\.1 (400|413) /, name);
      assert.match(text, /"code":"(invalid_request|request_too_large)"/, `${name}: ${text}`);
      assert.match(text, /x-request-id: req_[0-9a-z]{26}\r/, name);
      assert.match(text, /access-control-allow-origin: \*\r/, name);
      assert.match(text, /access-control-expose-headers: x-request-id, x-receipt, x-balance-usd, retry-after,/, name);
      assert.match(text, /x-should-retry: false\r/, name);
    }
  });

  test("cannot smuggle a second one behind two framings", async () => {
    const inner = `POST ${CHAT} HTTP/1.1\r\nhost: gateway\r\n\r\n`;
    const head = `POST ${CHAT} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${account.key}\r\ncontent-type: application/json\r\n`;
    const both = `${head}content-length: ${inner.length + 5}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`;
    assert.match(await sendBytes(stack.url, both), /^HTTP\/1\.1 400 /);
    const twice = `${head}content-length: 5\r\ncontent-length: 50\r\n\r\n{}`;
    assert.match(await sendBytes(stack.url, twice), /^HTTP\/1\.1 400 /);
  });
});
