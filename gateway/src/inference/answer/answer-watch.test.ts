import assert from "node:assert/strict";
import { test } from "node:test";
import { openFixture } from "../../../test/identity-fixture.ts";
import { openWebOutlet } from "../../http/outlet.ts";
import type { Delivered } from "../../pricing/quote.ts";
import type { Call } from "../call.ts";
import { openClientStream } from "../stream/client-stream.ts";
import { startWatch } from "./answer-watch.ts";

test("a checkpoint is written for more bytes of a choice that has not ended, and for nothing new none is", async () => {
  const { gateway } = openFixture();
  const ticks: (() => void)[] = [];
  gateway.environment.timers = {
    after(_ms, callback) {
      ticks.push(callback);
      return { cancel: () => undefined };
    },
  };
  const written: number[] = [];
  const call = {
    async checkpoint({ bytes }: Delivered) {
      written.push(bytes);
    },
  } as Call;
  const backlog = { waits: () => undefined, ends: () => undefined };
  const options = { openOutlet: openWebOutlet, headers: {}, keepAlive: null, stalledReaderMs: 1, backlog };
  const client = openClientStream(gateway.environment, options);
  let delivered: Delivered = { bytes: 0, events: 0 };
  const tap = { state: () => "open" as const, delivered: () => delivered, upstreamId: () => null };
  startWatch(gateway, call, tap, client);
  for (const bytes of [5, 5, 9]) {
    delivered = { bytes, events: 0 };
    void client.write(new Uint8Array(bytes), delivered);
    ticks.at(-1)?.();
  }
  assert.deepEqual(written, [5, 9]);
});
