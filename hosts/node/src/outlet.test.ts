import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { after, test } from "node:test";
import type { HostBindings } from "@inference/gateway/http/context";
import type { Outlet } from "@inference/gateway/http/outlet";
import { eventually } from "@inference/protocol/testing/eventually";
import { listen } from "./listen.ts";

const KIB = 1024;
const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map((close) => close())));

type Told = { room: number; gone: number };

/** A response through the host's outlet, and the outlet's reports. */
async function open(): Promise<{ outlet: Outlet; told: Told; response: IncomingMessage }> {
  const told: Told = { room: 0, gone: 0 };
  let outlet: Outlet | undefined;
  const fetch = async (_request: Request, host?: HostBindings): Promise<Response> => {
    assert.ok(host?.openOutlet);
    outlet = host.openOutlet(
      { "content-type": "text/event-stream", "x-test": "yes" },
      {
        onRoom() {
          told.room += 1;
        },
        onGone() {
          told.gone += 1;
        },
      },
    );
    return outlet.response;
  };
  const server = await listen({ fetch }, { HOST: "127.0.0.1", PORT: 0, STALLED_READER_MS: 60_000 });
  closing.push(server.close);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(server.url, { agent: false }, resolve).on("error", reject);
  });
  assert.ok(outlet);
  return { outlet, told, response };
}

function pieceOf(index: number, bytes: number): Uint8Array {
  return new Uint8Array(bytes).fill(index % 251);
}

test("status and headers are there before the first byte, and each write arrives by itself", async () => {
  const { outlet, told, response } = await open();
  assert.deepEqual([response.statusCode, response.headers["x-test"]], [200, "yes"]);
  const received: string[] = [];
  response.setEncoding("utf8").on("data", (text: string) => received.push(text));
  for (const text of ["one", "two", "three"]) {
    outlet.write(Buffer.from(text));
    await eventually(() => received.join("").endsWith(text));
  }
  outlet.end();
  await eventually(() => response.complete);
  assert.deepEqual([received.join(""), outlet.waitingBytes(), told.gone], ["onetwothree", 0, 0]);
});

test("bytes for a slow reader wait, are reported, and arrive whole and in order after the end", async () => {
  const { outlet, told, response } = await open();
  const pieces = Array.from({ length: 400 }, (_, index) => pieceOf(index, 32 * KIB));
  for (const piece of pieces) outlet.write(piece);
  outlet.end();
  const waited = outlet.waitingBytes();
  assert.ok(waited > 1024 * KIB, `${waited} bytes`);
  const received: Buffer[] = [];
  let least = waited;
  for await (const chunk of response) {
    received.push(chunk as Buffer);
    assert.ok(outlet.waitingBytes() <= least, "waiting bytes grew after the end");
    least = outlet.waitingBytes();
  }
  assert.equal(Buffer.compare(Buffer.concat(received), Buffer.concat(pieces)), 0);
  assert.equal(outlet.waitingBytes(), 0);
  assert.ok(told.room > 1, `room was reported ${told.room} times`);
  assert.equal(told.gone, 0);
});

test("an outlet that breaks off leaves an answer that its client knows to be incomplete", async () => {
  const { outlet, response } = await open();
  outlet.write(Buffer.from("a part"));
  response.resume();
  const failed = new Promise((resolve) => response.once("error", resolve));
  outlet.breakOff("a reason");
  assert.match(String(await failed), /aborted/);
  assert.equal(response.complete, false);
});

test("an outlet that breaks off while its client does not read resets the connection", async () => {
  const { outlet, response } = await open();
  for (let index = 0; outlet.waitingBytes() === 0 || index < 1_000; index += 1) outlet.write(pieceOf(index, 64 * KIB));
  const failed = once(response.socket, "error");
  outlet.breakOff("a reason");
  response.on("error", () => undefined).resume();
  const [error] = await failed;
  assert.equal(error.code, "ECONNRESET");
});

test("a client that leaves is reported, and what is written after that is dropped without an error", async () => {
  const { outlet, told, response } = await open();
  for (let index = 0; index < 400; index += 1) outlet.write(pieceOf(index, 64 * KIB));
  assert.ok(outlet.waitingBytes() > 0);
  response.on("error", () => undefined).destroy();
  await eventually(() => told.gone > 0);
  assert.equal(outlet.waitingBytes(), 0);
  for (let index = 0; index < 100; index += 1) outlet.write(pieceOf(index, 64 * KIB));
  outlet.end();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(told.gone > 0);
});

test("twice as many waiting pieces are twice the work: no piece moves for another", async () => {
  const { shift } = Array.prototype;
  let moved = 0;
  Array.prototype.shift = function count(this: unknown[]) {
    if (this[0] instanceof Uint8Array) moved += this.length;
    return shift.call(this);
  };
  async function movedBy(pieces: number): Promise<number> {
    moved = 0;
    const { outlet, response } = await open();
    for (let index = 0; index < pieces; index += 1) outlet.write(pieceOf(index, KIB));
    assert.ok(outlet.waitingBytes() > (pieces * KIB) / 2, "few pieces wait");
    response.resume();
    await eventually(() => assert.equal(outlet.waitingBytes(), 0));
    outlet.end();
    return moved;
  }
  try {
    const [once, twice] = [await movedBy(8_000), await movedBy(16_000)];
    assert.ok(twice <= 2 * once, `${twice} moves against ${once}`);
  } finally {
    Array.prototype.shift = shift;
  }
});
