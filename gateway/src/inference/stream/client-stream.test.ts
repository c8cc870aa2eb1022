import assert from "node:assert/strict";
import { test } from "node:test";
import type { Environment } from "../../environment.ts";
import { openWebOutlet } from "../../http/outlet.ts";
import { nothingDelivered } from "../../pricing/quote.ts";
import { openClientStream } from "./client-stream.ts";

const environment = {
  clock: { now: () => 0 },
  timers: { after: () => ({ cancel: () => undefined }) },
} as unknown as Environment;

const options = { openOutlet: openWebOutlet, headers: {}, keepAlive: null, stalledReaderMs: 1_000 };

test("a client that has caught up has no bytes waiting, while its answer goes on", async () => {
  let waiting = 0;
  const backlog = {
    waits(bytes: number) {
      waiting = bytes;
    },
    ends: () => undefined,
  };
  const client = openClientStream(environment, { ...options, backlog });
  const chunk = new Uint8Array(100_000);
  let room: Promise<void> | undefined;
  for (let chunks = 0; chunks < 3; chunks++) room = client.write(chunk, nothingDelivered);
  assert.equal(waiting, 3 * chunk.length);
  const reader = (client.response.body as ReadableStream<Uint8Array>).getReader();
  for (let chunks = 0; chunks < 3; chunks++) await reader.read();
  await room;
  assert.equal(waiting, 0);
});
