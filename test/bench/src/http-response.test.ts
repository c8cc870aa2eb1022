import assert from "node:assert/strict";
import { test } from "node:test";
import { MalformedResponse, responseParser } from "./http-response.ts";

interface Seen {
  status: number;
  body: string;
  keepAlive?: boolean;
}

function parse(pieces: readonly Buffer[]): Seen[] {
  const seen: Seen[] = [];
  const parser = responseParser({
    head: (status) => seen.push({ status, body: "" }),
    body(bytes) {
      const last = seen.at(-1);
      assert.ok(last, "a body before its head");
      last.body += bytes.toString("latin1");
    },
    end(keepAlive) {
      const last = seen.at(-1);
      assert.ok(last, "an end before its head");
      last.keepAlive = keepAlive;
    },
  });
  for (const piece of pieces) parser.push(piece);
  return seen;
}

const fixed = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nhello\r\n\r\nhell";
const empty = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
const chunked =
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many\r\ntransfer-encoding: chunked\r\n\r\n" +
  "5;x=y\r\nab\r\nc\r\nA\r\n0123456789\r\n0\r\ntrailer: 1\r\n\r\n";
const wire = Buffer.from(fixed + chunked + empty, "latin1");
const expected: Seen[] = [
  { status: 200, body: "hello\r\n\r\nhell", keepAlive: true },
  { status: 429, body: "ab\r\nc0123456789", keepAlive: true },
  { status: 204, body: "", keepAlive: false },
];

test("responses that follow each other in one piece are told apart", () => {
  assert.deepEqual(parse([wire]), expected);
});

test("the answers are the same wherever the bytes are split once", () => {
  for (let at = 0; at <= wire.length; at += 1) {
    assert.deepEqual(parse([wire.subarray(0, at), wire.subarray(at)]), expected, `split at ${at}`);
  }
});

test("the answers are the same in pieces of any one size, down to single bytes", () => {
  for (let size = 1; size < 40; size += 1) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < wire.length; at += size) pieces.push(wire.subarray(at, at + size));
    assert.deepEqual(parse(pieces), expected, `pieces of ${size}`);
  }
});

test("a response that is not whole does not end", () => {
  const whole = Buffer.from(chunked, "latin1");
  for (let at = 0; at < whole.length; at += 1) {
    assert.equal(parse([whole.subarray(0, at)]).at(-1)?.keepAlive, undefined, `cut at ${at}`);
  }
});

test("what is no response is refused", () => {
  const refused = [
    "HTTP/1.1 2x0 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabcd\r\n",
    `HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}`,
  ];
  for (const text of refused) assert.throws(() => parse([Buffer.from(text, "latin1")]), MalformedResponse);
});
