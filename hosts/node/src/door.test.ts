import assert from "node:assert/strict";
import { connect } from "node:net";
import { before, describe, test } from "node:test";
import { assertError } from "@inference/gateway/test/assert-error";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendBytes, sendHttp } from "@inference/gateway/test/http-client";
import { startStack, type TestAccount } from "./testing/stack.ts";

/**
 * The gateway's time, memory and connections that a request takes before anyone has paid for it. On Node alone: a
 * Worker's runtime reads heads and bodies by itself.
 */
const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";

let account: TestAccount;
// A body has 300 ms.
const stack = hostFor(() => startStack({ hurry: 50 }));
before(async () => {
  account = await stack.account(USD);
});

function head(key: string, framing: string): string {
  const lines = [`POST ${CHAT} HTTP/1.1`, "host: gateway", `authorization: Bearer ${key}`];
  return `${[...lines, "content-type: application/json", framing].join("\r\n")}\r\n\r\n`;
}

describe("a body that trickles in", () => {
  const framings: Record<string, [framing: string, piece: string]> = {
    "of a small length": ["content-length: 1000", " "],
    "of a large length": ["content-length: 1000000", " "],
    "of no length": ["transfer-encoding: chunked", "1\r\n \r\n"],
  };
  for (const [name, [framing, piece]] of Object.entries(framings)) {
    test(`${name} has the time that a whole body has, and then its connection is closed`, async () => {
      const socket = connect(Number(new URL(stack.url).port), "127.0.0.1");
      let text = "";
      socket.on("data", (data) => {
        text += data.toString();
      });
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(head(account.key, framing));
      const trickle = setInterval(() => socket.write(piece), 50);
      await closed;
      clearInterval(trickle);
      socket.destroy();
      assert.match(text, /^HTTP\/1\.1 408 /);
      assert.match(text, /"code":"request_timeout"/);
      assert.match(text, /connection: close/i);
    });
  }
});

describe("a large body", () => {
  const part = "x".repeat(100_000);
  const framings: Record<string, [framing: string, body: string]> = {
    "of a known length": ["content-length: 1000000", part],
    "of no length": ["transfer-encoding: chunked", `${part.length.toString(16)}\r\n${part}\r\n`],
  };
  for (const [name, [framing, body]] of Object.entries(framings)) {
    test(`${name} is not read for a key that no account knows`, async () => {
      const { text: unknown } = stack.gateway.credentials.issue("ik", account.address);
      assert.match(await sendBytes(stack.url, head(unknown, framing) + body), /"code":"invalid_api_key"/);
      assert.match(await sendBytes(stack.url, head(account.key, framing) + body), /"code":"request_timeout"/);
    });
  }

  test("takes its memory for as long as its request lasts", async () => {
    // All of it has to arrive: with the time that a body usually has. Five at once would be more than an account's share.
    const unhurried = await startStack();
    const { key } = await unhurried.account(USD);
    const body = "x".repeat(8 * 1024 * 1024);
    for (let sent = 0; sent < 6; sent += 1) {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const answer = await sendHttp(unhurried.url, { path: CHAT, body, headers, chunked: sent % 2 === 0 });
      assertError(answer, 400, "invalid_request");
    }
    await unhurried.stop();
  });
});
