import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { eventually } from "@inference/protocol/testing/eventually";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { startEdge } from "./testing/edge.ts";

/** The start of an isolate depends on no write, and on no remote answer for longer than seconds. */
const edge = hostFor(() => startEdge({}, { keyValue: new URL("testing/silent-key-value.ts", import.meta.url) }));

test("an isolate whose write of prices never answers serves requests, and says that they are not stored", async () => {
  const { key } = await edge.account(1_000_000_000);
  const response = await edge.chat(key, { messages: [{ role: "user", content: "[[tokens=5]]" }] });
  assert.equal(response.status, 200, await response.text());
  // The prices are read again, and their write has a thirtieth of its time.
  await edge.set({ hurry: 30 });
  await edge.goTo(Date.now() + 6 * 60_000);
  await eventually(async () => assert.notEqual((await edge.said("prices_not_kept")).length, 0));
});

test("a provider whose catalogue never answers delays other requests for a part of its time limit", async (t) => {
  let asked = 0;
  const silent = await listenLocally(
    createServer(() => {
      asked += 1;
    }),
  );
  t.after(silent.close);
  // A fifth of each time limit, and prices that are too old.
  await edge.set({ provider: silent.url, hurry: 5 });
  await edge.set({ aheadMs: 30 * 60_000 });
  const response = await fetch(`${edge.url}/openapi.json`);
  assert.deepEqual([response.status, asked], [200, 1]);
  assert.deepEqual(await edge.said("prices_failed"), [], "the read goes on");
});
