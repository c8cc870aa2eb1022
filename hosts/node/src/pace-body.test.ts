import assert from "node:assert/strict";
import { connect } from "node:net";
import { before, test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { startStack } from "./testing/stack.ts";

/** Chunked bodies, in chunks of every size. */
const USD = 1_000_000_000;

let key: string;
const stack = hostFor(startStack);
before(async () => {
  ({ key } = await stack.account(USD));
});

/** Sends a chat in chunks of so many bytes, written at once; answers with what came back until the connection ended. */
async function post(content: string, chunkBytes: number): Promise<string> {
  const text = JSON.stringify({ model: "sim-small", max_tokens: 5, messages: [{ role: "user", content }] });
  const chunks: string[] = [];
  for (let at = 0; at < text.length; at += chunkBytes) {
    const chunk = text.slice(at, at + chunkBytes);
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  }
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "host: gateway",
    "connection: close",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    "transfer-encoding: chunked",
  ];
  const socket = connect(Number(new URL(stack.url).port), "127.0.0.1");
  let answer = "";
  socket.setEncoding("latin1");
  socket.on("data", (part: string) => {
    answer += part;
  });
  socket.on("error", () => undefined);
  socket.write(`${head.join("\r\n")}\r\n\r\n${chunks.join("")}0\r\n\r\n`);
  await new Promise<void>((resolve) => socket.on("close", () => resolve()));
  return answer;
}

for (const [length, chunkBytes] of [
  [100, 1],
  [3_000, 1],
  [20_000, 16],
  [20_000, 1_000],
  [150_000, 70_000],
] as const) {
  test(`a body of ${length} letters in chunks of ${chunkBytes} is what it would be at once`, async () => {
    const answer = await post(`${length}-${chunkBytes}-${"x".repeat(length)}`, chunkBytes);
    assert.match(answer, /^HTTP\/1\.1 200 /);
    const sent = stack.simulator.simulator.records.select((record) => record.body !== null, 1)[0];
    assert.ok(sent?.body?.includes(`"${length}-${chunkBytes}-${"x".repeat(length)}"`));
  });
}

test("a body of 300,000 chunks of a byte is cut off", async () => {
  assert.equal(await post("x".repeat(300_000), 1), "");
  assert.match(await post("still there", 1), /^HTTP\/1\.1 200 /);
});
