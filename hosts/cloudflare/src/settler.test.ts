import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import type { CommandType } from "@inference/ledger/commands";
import { chainPartition, journalPartition } from "@inference/ledger/partition";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import type { RequestId } from "@inference/protocol/id";
import { eventually } from "@inference/protocol/testing/eventually";
import { leafOf } from "@inference/protocol/use-leaf";
import { dayNumber, utcDay } from "@inference/protocol/window";
import { createPublicClient, type Hex, http, stringToHex, zeroAddress, zeroHash } from "viem";
import { type Edge, startEdge } from "./testing/edge.ts";
import type { ChainEviction } from "./testing/evicting-chain-worker.ts";

/** The settler in the chain's object: from a request to its proof on a real chain, whenever the object is evicted. */
/** Of the settler of `startPrimaryChain`. */
const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const address: Address = "0x00000000000000000000000000000000000000ca";
const METRICS = "metrics-token-of-this-test";
const DOLLAR = 1_000_000_000;

/** Before one step. The runtime waits longer after each before it rings the alarm again. */
const evictions = process.env.DEEP === "1" ? 3 : 1;

let chain: PrimaryChain;
let edge: Edge;
let key: string;
/** What every request has cost, by its id. */
const charges = new Map<string, number>();

before(async () => {
  chain = await startPrimaryChain();
  await chain.activate(address, 5_000_000n);
  await chain.finalize();
  edge = await startEdge(
    {
      ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement },
      ...{ SETTLEMENT_START_BLOCK: String(chain.startBlock), CHAIN_POLL_MS: "100" },
      ...{ SETTLER_PRIVATE_KEY: privateKey, SETTLER_INTERVAL_MS: "0", METRICS_TOKEN: METRICS },
      // The uses are in the journal of a shard.
      CEILING_SHARDS: "3",
    },
    { entry: new URL("testing/evicting-chain-worker.ts", import.meta.url) },
  );
  ({ key } = await edge.account(0, { address }));
  await eventually(async () => {
    const { data } = (await read("/api/v1/credits")) as { data: { total_credits: number } };
    assert.equal(data.total_credits, 5);
  }, 15_000);
});
after(async () => {
  await edge?.stop();
  await chain?.stop();
});

type Settlement = { status: string; batch: number; leaf: Hex; proof: Hex[] };

async function read(path: string): Promise<unknown> {
  const response = await fetch(`${edge.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

const settlementOf = async (id: string): Promise<Settlement> =>
  ((await read(`/api/v1/generation?id=${id}`)) as { data: { settlement: Settlement } }).data.settlement;

async function request(): Promise<string> {
  const response = await edge.chat(key, { messages: [{ role: "user", content: "hello" }] });
  assert.equal(response.status, 200, await response.text());
  const id = response.headers.get("x-request-id") ?? "";
  await eventually(async () => {
    const { charge_nano_usd: charge } = ((await read(`/api/v1/generation?id=${id}`)) as { data: never }).data;
    charges.set(id, charge);
  });
  return id;
}

/** Makes blocks until the request is settled finally. */
async function untilFinal(id: string): Promise<Settlement> {
  let found: Settlement | undefined;
  await eventually(async () => {
    await chain.mine();
    found = await settlementOf(id);
    assert.equal(found.status, "final", JSON.stringify(found));
  }, 30_000);
  return found as Settlement;
}

const contract = () => createPublicClient({ transport: http(chain.rpcUrl) });
const abi = inferenceSettlementAbi;

/** By the contract, from what the receipt says. */
async function isProved(id: string, { batch, proof, leaf }: Settlement): Promise<boolean> {
  const settled = {
    ...{ batch, account: address, receipt: id as RequestId, costNanoUsd: charges.get(id) ?? 0 },
    dayServed: dayNumber(Date.now()),
  } as const;
  assert.equal(leaf, leafOf({ chainId: 31337, address: chain.settlement }, settled));
  const receipt = stringToHex(id, { size: 32 });
  const use = {
    ...{ batch: BigInt(batch), account: address, receipt, costNanoUsd: BigInt(settled.costNanoUsd) },
    ...{ server: zeroAddress, dayServed: BigInt(settled.dayServed), offerHash: zeroHash },
  } as const;
  return contract().readContract({ address: chain.settlement, abi, functionName: "verify", args: [use, proof] });
}

/** The chain has debited what all requests cost, and the books have each batch once, as settled. */
async function checkBooks(): Promise<void> {
  const total = [...charges.values()].reduce((sum, charge) => sum + charge, 0);
  const credit = await contract().readContract({
    ...{ address: chain.settlement, abi, functionName: "creditNanoUsd", args: [address] },
  });
  assert.equal(credit, BigInt(5 * DOLLAR - total));
  const count = await contract().readContract({ address: chain.settlement, abi, functionName: "batchCount" });
  const batches = await edge.read(chainPartition(31337), { type: "batches", limit: 100 });
  assert.deepEqual(
    batches.map(({ batch, state }) => [batch, state]),
    Array.from({ length: Number(count) }, (_, before) => [Number(count) - before, "settled"]),
  );
  assert.equal(
    batches.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0),
    total,
  );
}

test("a request's charge is pending, posted and final, and the contract verifies its proof", async () => {
  const id = await request();
  const day = utcDay(Date.now());
  const shards = await eventually(async () => {
    const known = await edge.read(journalPartition(day), { type: "shards" });
    return known.length === 0 ? false : known;
  });
  assert.match(shards.join(), /^\d{4}-\d\d-\d\d:[123]$/);
  const seen = new Set<string>();
  await eventually(async () => {
    const { status } = await settlementOf(id);
    seen.add(status);
    assert.equal(status, "posted");
  }, 15_000);
  const final = await untilFinal(id);
  assert.ok(seen.has("posted"));
  assert.equal(await isProved(id, final), true);
  await checkBooks();
  await eventually(async () => {
    const { settler } = ((await read("/api/v1/status")) as { data: { settler: unknown } }).data;
    assert.match(JSON.stringify(settler), /"state":"(idle|posting)".*"address":"0x/);
    const metrics = await (
      await fetch(`${edge.url}/metrics`, { headers: { authorization: `Bearer ${METRICS}` } })
    ).text();
    assert.match(metrics, /_settler_halted 0\n/);
    assert.match(metrics, /_settler_balance_wei [1-9]/);
    assert.match(metrics, /_settler_nonce [1-9]/);
    assert.match(metrics, /_settler_address\{address="0x[0-9a-f]{40}"\} 1\n/);
  }, 10_000);
});

async function evictAt(next: ChainEviction): Promise<number> {
  const response = await fetch(`${edge.url}/__evict`, { method: "POST", body: JSON.stringify(next) });
  return (await response.json()) as number;
}

const steps: CommandType[] = ["openBatch", "gatherUses", "buildBatch", "signBatch", "settleBatch"];
for (const step of steps) {
  for (const moment of ["before", "after"] as const) {
    test(`a batch survives the eviction of the chain's object ${moment} ${step}`, async () => {
      await evictAt({ step, moment, times: moment === "before" ? evictions : 1 });
      const id = await request();
      const final = await untilFinal(id);
      assert.equal(await evictAt({ step, moment, times: 0 }), 0, "it was evicted");
      assert.equal(await isProved(id, final), true);
      await checkBooks();
    });
  }
}

test("a batch on its way survives the end of the process", async () => {
  const id = await request();
  await eventually(async () => assert.equal((await settlementOf(id)).status, "posted"), 15_000);
  await edge.restart();
  assert.equal(await isProved(id, await untilFinal(id)), true);
  await checkBooks();
});

test("a day that is over is reconciled", async () => {
  await eventually(async () => {
    const { data } = (await read("/api/v1/reconciliations")) as { data: { status: string; accounts: unknown }[] };
    assert.match(JSON.stringify(data.at(-1)), /"status":"closed".*"unexplained_nano_usd":0/);
  }, 15_000);
});

test("a ledger without the chain's batches serves nothing, reads nothing and posts nothing", async () => {
  const batches = await contract().readContract({ address: chain.settlement, abi, functionName: "batchCount" });
  assert.notEqual(batches, 0n);
  const empty = await startEdge({
    ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement },
    ...{ SETTLEMENT_START_BLOCK: String(chain.startBlock), CHAIN_POLL_MS: "100" },
    ...{ SETTLER_PRIVATE_KEY: privateKey, SETTLER_INTERVAL_MS: "0" },
  });
  try {
    const { key } = await empty.account(DOLLAR, { address });
    for (const round of ["at first", "after a restart"]) {
      // The first request of the process.
      const refused = await empty.chat(key, { messages: [{ role: "user", content: "hello" }] });
      assert.deepEqual([round, refused.status, /ledger_unavailable/.test(await refused.text())], [round, 503, true]);
      const health = await fetch(`${empty.url}/healthz`);
      assert.equal(health.status, 503);
      assert.match(await health.text(), /"ledger":"behind".*older than the chain/);
      if (round === "at first") await empty.restart();
    }
    await eventually(async () => assert.notEqual((await empty.said("older than the chain")).length, 0));
    const partition = chainPartition(31337);
    assert.equal(await empty.read(partition, { type: "cursor" }), null);
    assert.deepEqual(await empty.read(partition, { type: "batches", limit: 1 }), []);
  } finally {
    await empty.stop();
  }
});
