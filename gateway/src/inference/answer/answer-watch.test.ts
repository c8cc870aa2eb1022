import assert from "node:assert/strict";
import { test } from "node:test";
import { openFixture } from "../../../test/identity-fixture.ts";
import { limits } from "../../config.ts";
import { openWebOutlet } from "../../http/outlet.ts";
import type { Delivered, Quote } from "../../pricing/quote.ts";
import type { Call } from "../call.ts";
import { openClientStream } from "../stream/client-stream.ts";
import { CHECKPOINT_NANO_USD, startWatch } from "./answer-watch.ts";

/** A stream at a price for each byte, over a clock that stands. */
function openWatch(nanoUsdPerByte: number) {
  const { gateway } = openFixture();
  let now = 0;
  const ticks: (() => void)[] = [];
  gateway.environment.clock = { now: () => now };
  gateway.environment.timers = {
    after(_ms, callback) {
      ticks.push(callback);
      return { cancel: () => undefined };
    },
  };
  const written: number[] = [];
  const call = {
    order: { quote: { chargeForDelivered: ({ bytes }) => bytes * nanoUsdPerByte } as Quote },
    async checkpoint({ bytes }: Delivered) {
      written.push(bytes);
    },
  } as Call;
  const backlog = { waits: () => undefined, ends: () => undefined };
  const options = { openOutlet: openWebOutlet, headers: {}, keepAlive: null, stalledReaderMs: 1, backlog };
  const client = openClientStream(gateway.environment, options);
  let delivered: Delivered = { bytes: 0, events: 0 };
  const tap = { state: () => "open" as const, delivered: () => delivered, upstreamId: () => null };
  const watch = startWatch(gateway, call, tap, client);
  return {
    written,
    deliver(bytes: number) {
      delivered = { bytes, events: 0 };
      void client.write(new Uint8Array(bytes), delivered);
      watch.checkpointIfDue();
    },
    tickAfter(ms: number) {
      now += ms;
      // The provider is not idle.
      watch.sawBytes();
      ticks.at(-1)?.();
    },
  };
}

test("a checkpoint is written for each amount that is worth one, however soon, and for less none is", () => {
  const { written, deliver } = openWatch(CHECKPOINT_NANO_USD / 10);
  for (const bytes of [1, 9, 10, 11, 19, 20, 60]) deliver(bytes);
  assert.deepEqual(written, [10, 20, 60]);
});

test("content that is worth less is checkpointed after a minute, and nothing new is not", () => {
  const { written, deliver, tickAfter } = openWatch(1);
  deliver(5);
  tickAfter(limits.checkpointMs - 1);
  assert.deepEqual(written, []);
  tickAfter(1);
  tickAfter(limits.checkpointMs);
  assert.deepEqual(written, [5]);
  deliver(9);
  assert.deepEqual(written, [5, 9]);
});
