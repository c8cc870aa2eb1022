import assert from "node:assert/strict";
import { test } from "node:test";
import { ceilingPartition, ceilingShard, journalPartition, journalUnder } from "@inference/ledger/partition";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { privateKeyToAccount } from "viem/accounts";
import { createSettler } from "./settler.ts";
import { createSimulatedChain } from "./testing/simulated-chain.ts";
import { createSimulatedNode } from "./testing/simulated-node.ts";

const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const settler = privateKeyToAccount(privateKey).address.toLowerCase() as Address;
const settlement: Address = "0x00000000000000000000000000000000005e7713";
const account: Address = `0x${"1".repeat(40)}`;
const MINUTE = 60_000;

test("a use in the day's own journal is posted in time while the journals of four shards are busy", async () => {
  const day = 20_000 * DAY_MS;
  let now = day + 60 * MINUTE;
  const seconds = () => Math.floor(now / 1000);
  const chain = createSimulatedChain({ settlement, settler, chainId: 31337, finalityDepth: 2, time: seconds() - 600 });
  const node = createSimulatedNode(chain);
  const host = openMemoryHost({ now: () => now });
  chain.activate(account, 10_000_000n);
  for (let block = 0; block < 4; block++) chain.mine({ time: seconds() - 500 + 12 * block, takes: true });
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 50_000_000_000 });
  let uses = 0;
  function use(shard: number | null): string {
    uses += 1;
    const id = `req_${String(now).padStart(20, "0")}${String(uses).padStart(6, "0")}`;
    const journal = journalPartition(journalUnder(shard === null ? null : ceilingShard(shard), utcDay(now)));
    const served = { admittedAt: now, chargeNanoUsd: 1_000, server: "protocol" };
    host.apply(journal, { type: "journal", id, account, ...served });
    host.deliverAll();
    return id;
  }
  const limits = { intervalMs: 10 * MINUTE };
  const client = { request: (method: string, params: readonly unknown[]) => node.request(method, params) };
  const running = createSettler({
    ...{ client, chainId: 31337, settlement, startBlock: 0, privateKey, confirmations: "finalized", limits },
    ...{ ledger: host, now: () => now, onAlert: assert.fail },
  } as Parameters<typeof createSettler>[0]);
  async function pass(): Promise<void> {
    for (let shard = 1; shard <= 4; shard++) use(shard);
    now += MINUTE / 2;
    chain.mine({ time: seconds(), takes: true });
    await running.poll();
  }
  while (now < day + 85 * MINUTE) await pass();
  const own = use(null);
  const batchOf = () => host.rows(journalPartition(utcDay(day))).get("use", own)?.batch ?? null;
  while (batchOf() === null && now < day + 120 * MINUTE) await pass();
  assert.notEqual(batchOf(), null);
});
