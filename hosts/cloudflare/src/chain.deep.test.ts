import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { OBJECT_VERSION } from "./row-log.ts";
import { type Edge, startEdge } from "./testing/edge.ts";

let chain: PrimaryChain;
let edge: Edge;

const address = "0x00000000000000000000000000000000000000ca";
const account = accountPartition(address);

before(async () => {
  chain = await startPrimaryChain();
  edge = await startEdge({
    PRIMARY_RPC_URL: chain.rpcUrl,
    SETTLEMENT_ADDRESS: chain.settlement,
    SETTLEMENT_START_BLOCK: String(chain.startBlock),
    CHAIN_POLL_MS: "100",
  });
});

after(async () => {
  await edge?.stop();
  await chain?.stop();
});

async function balance(): Promise<number | null> {
  const { limitNanoUsd } = await edge.read(account, { type: "balance", at: Date.now() });
  return limitNanoUsd;
}

test("the first request starts the watcher, whose alarms credit what is final, once, and keep the ceiling", async () => {
  await chain.finalize();
  await eventually(async () => {
    const { limitNanoUsd } = await edge.read(ceilingPartition, { type: "ceiling", at: Date.now() });
    assert.equal(limitNanoUsd, 50_000_000_000);
  });
  const { key } = await edge.account(1_000_000_000, { address });
  const before = (await balance()) ?? 0;
  await chain.activate(address, 3_000_000n);
  await eventually(async () => {
    const response = await fetch(`${edge.url}/api/v1/credits`, { headers: { authorization: `Bearer ${key}` } });
    const text = await response.text();
    assert.match(text, /3000000000/, "shown before it is final");
  });
  assert.equal(await balance(), before);
  await chain.finalize();
  // All that the account ever activated, by the contract.
  await eventually(async () => assert.equal(await balance(), 3_000_000_000));
});

test("at the operator's call the chain is read again, and an account that hears it has what it had", async () => {
  const before = await balance();
  const cursor = () => edge.read(chainPartition(31_337), { type: "cursor" });
  const { replay = 0 } = (await cursor()) ?? {};
  await edge.object("operator", "reread");
  assert.ok(((await cursor())?.replay ?? 0) > replay);
  await eventually(async () => {
    await chain.finalize();
    const read = await cursor();
    assert.ok(read !== null && read.block >= read.readyFrom);
  });
  assert.equal(await balance(), before);
});

test("an account whose object was restored spends nothing before it has heard the chain's totals", async () => {
  const { key } = await edge.addKey(address);
  const ask = () => edge.chat(key, { messages: [{ role: "user", content: "hello" }] });
  assert.equal((await ask()).status, 200);
  // Its own alarm hears them too.
  await edge.set({ out: "chain:" });
  // In the middle of other commits of the account.
  const others = Array.from({ length: 16 }, () => ask().then(() => undefined));
  const restored = Array.from({ length: 4 }, () => edge.object(account, "restored", account));
  await Promise.all([...others, ...restored]);
  assert.equal((await ask()).status, 503);
  await edge.set({ out: "" });
  assert.equal((await ask()).status, 200);
});

test("a watcher whose process died goes on from its cursor by its own alarm", async () => {
  const before = (await balance()) ?? 0;
  await chain.activateTwice(address, 1_000_000n);
  await chain.finalize();
  await edge.restart();
  await eventually(async () => assert.equal(await balance(), before + 2_000_000_000));
});

test("the Worker tells how far its chain was read", async () => {
  await eventually(async () => {
    const health = (await (await fetch(`${edge.url}/healthz`)).json()) as { chain: string; row_version: number };
    assert.deepEqual([health.chain, health.row_version], ["following", OBJECT_VERSION]);
  });
});
