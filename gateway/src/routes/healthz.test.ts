import assert from "node:assert/strict";
import { test } from "node:test";
import { send } from "@inference/ledger/saga";
import type { ChainFollowing } from "@inference/protocol/chain-reader";
import { openChain } from "../../test/fund.ts";
import { openFixture } from "../../test/identity-fixture.ts";

async function healthWith(following: ChainFollowing): Promise<Record<string, unknown>> {
  const fixture = openFixture();
  await fixture.gateway.prices.refresh();
  await openChain((partition, command) => fixture.ledger.run(() => send(partition, command)));
  fixture.chain.following = () => following;
  const { status, text } = await fixture.call("GET", "/healthz");
  assert.equal(status, 200, text);
  return JSON.parse(text) as Record<string, unknown>;
}

test("a gateway whose chain's node has never answered is degraded, and says what to check", async () => {
  const { status, chain, action } = await healthWith({ state: "starting", block: null, lagBlocks: null });
  assert.deepEqual([status, chain], ["degraded", "starting"]);
  assert.match(String(action), /PRIMARY_RPC_URL/);
});

test("a gateway that reads old blocks, or has read them all, is well", async () => {
  for (const state of ["starting", "following"] as const) {
    const { status, action } = await healthWith({ state, block: 7, lagBlocks: 3 });
    assert.deepEqual([status, action], ["ok", undefined]);
  }
});
