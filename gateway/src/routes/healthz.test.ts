import assert from "node:assert/strict";
import { test } from "node:test";
import { send } from "@inference/ledger/saga";
import type { ChainFollowing } from "@inference/protocol/chain-reader";
import type { SettlerStatus } from "@inference/protocol/settler-status";
import { zeroAddress } from "viem";
import { openChain } from "../../test/fund.ts";
import { openFixture } from "../../test/identity-fixture.ts";

async function healthWith(
  following: ChainFollowing,
  settler?: Partial<SettlerStatus>,
): Promise<Record<string, unknown>> {
  const fixture = openFixture();
  const usual = { address: zeroAddress, balanceWei: 1n, nonce: 3, inFlight: 0, lastPollAt: fixture.time.now } as const;
  const waiting = { accounts: 2, amountNanoUsd: 5, oldestAt: fixture.time.now };
  if (settler !== undefined) {
    fixture.gateway.environment.settler = () => ({ ...usual, state: "waiting", waiting, ...settler });
  }
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

test("a gateway whose settler has completed no poll for ten minutes is degraded, and says why", async () => {
  const following = { state: "following", block: 7, lagBlocks: 0 } as const;
  const { time } = openFixture();
  const late = await healthWith(following, { lastPollAt: time.now - 600_000, reason: "no answer" });
  assert.equal(late.status, "degraded");
  assert.match(String(late.action), /no answer/);
  for (const settler of [{ lastPollAt: time.now - 599_999 }, { state: "idle", lastPollAt: null }] as const) {
    assert.equal((await healthWith(following, settler)).status, "ok");
  }
});

test("a settler that stopped, that the contract refuses, or that leaves an amount due, is named with the reason", async () => {
  const following = { state: "following", block: 7, lagBlocks: 0 } as const;
  const { time, gateway } = openFixture();
  const late = time.now - gateway.config.posting.intervalMs - 6 * 3_600_000;
  const waiting = { accounts: 2, amountNanoUsd: 1_500_000_000, oldestAt: late };
  const hindered: [Partial<SettlerStatus>, RegExp][] = [
    [{ state: "idle", lastPollAt: time.now - 600_000 }, /posts nothing since/],
    [{ reason: "the settlement refuses a chunk: NotSettler" }, /refuses a chunk: NotSettler\. Check the settler/],
    [{ waiting, reason: "the ceiling is full" }, /^\$1\.5\d* of 2 accounts is not debited .*: the ceiling is full\.$/],
  ];
  for (const [settler, expected] of hindered) {
    const { status, action } = await healthWith(following, settler);
    assert.equal(status, "degraded");
    assert.match(String(action), expected);
  }
  const well = [
    { waiting: { ...waiting, oldestAt: late + 1 }, reason: "the ceiling is full" },
    { waiting, state: "posting" },
  ] as const;
  for (const settler of well) assert.equal((await healthWith(following, settler)).status, "ok");
});
