import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { sendHttp } from "@inference/gateway/test/http-client";
import { startStack } from "./testing/stack.ts";

const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";

/** On Node alone: it counts the decoders of the process. */
test("a decoder begins for a body that has arrived whole, with a valid credential, and for no other", async (context) => {
  const stack = await startStack();
  context.after(() => stack.stop());
  const { key, address } = await stack.account(USD);
  const { text: unknown } = stack.gateway.credentials.issue("ik", address);
  let decoders = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "ZLIB") decoders += 1;
    },
  });
  const chat = { model: "sim-small", max_tokens: 1, messages: [{ role: "user", content: "hello" }] };
  const body = gzipSync(JSON.stringify(chat));
  const headers = (bearer: string) => ({
    authorization: `Bearer ${bearer}`,
    "content-type": "application/json",
    "content-encoding": "gzip",
  });
  hook.enable();
  context.after(() => hook.disable());

  const { hostname, port } = new URL(stack.url);
  for (const path of [CHAT, "/auth"]) {
    const socket = connect(Number(port), hostname);
    const head = Object.entries({ host: "a", ...headers(key), "content-length": body.length + 1 });
    socket.write(`POST ${path} HTTP/1.1\r\n${head.map((line) => `${line.join(": ")}\r\n`).join("")}\r\n`);
    socket.write(body);
    // The answer to a second connection shows that the first body was read.
    assert.equal((await stack.call("/healthz")).status, 200);
    assert.equal(decoders, 0);
    socket.destroy();
    await once(socket, "close");
  }
  assert.equal((await sendHttp(stack.url, { path: "/auth", headers: headers(key), body })).status, 415);
  assert.equal((await sendHttp(stack.url, { path: CHAT, headers: headers(unknown), body })).status, 401);
  assert.equal((await sendHttp(stack.url, { path: CHAT, headers: headers(`${key}x`), body })).status, 401);
  assert.equal(decoders, 0);
  assert.equal((await sendHttp(stack.url, { path: CHAT, headers: headers(key), body })).status, 200);
  assert.equal(decoders, 1);
});
