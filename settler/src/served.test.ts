import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createChainClient } from "@inference/chain/rpc";
import { createSettlementWatcher } from "@inference/chain/settlement-watcher";
import { chain } from "@inference/chain/testing/shared-chain";
import { timers } from "@inference/chain/testing/timers";
import { sendHeard } from "@inference/ledger/hearing";
import { accountPartition, agentPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import { reserveRequest } from "@inference/ledger/reservation";
import { createKey } from "@inference/ledger/testing/example";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { pureKeccak } from "@inference/protocol/merkle-tree";
import { type Abi, createPublicClient, type Hex, http, toFunctionSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSettler } from "./settler.ts";
import { statementTrees } from "./statement-tree.ts";
import { createStatements } from "./statements.ts";

/** A use that an agent serves, from its hold to what is owed for it, with the real settlement on a real chain. */
const CHAIN_ID = 31337;
const privateKey: Hex = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const alice: Address = "0x00000000000000000000000000000000000a11ce";
const agent: Address = "0x0000000000000000000000000000000000a9e477";
const CAPACITY_NANO_USD = 2_000_000_013;
const offer = { agent, offer: `0x${"0f".repeat(32)}` };

before(() => chain.reset());

test("an agent's part is owed up to its capacity, the rest to the provider, all to the nano-dollar", async () => {
  const reader = createPublicClient({ transport: http(chain.rpcUrl), cacheTime: 0 });
  const view = (functionName: string, args: readonly unknown[] = []): Promise<unknown> =>
    reader.readContract({ address: chain.settlement, abi: inferenceSettlementAbi as Abi, functionName, args });
  // Pool and registry are one address on a chain without agents.
  assert.equal(await view("POOL"), await view("REGISTRY"));
  await chain.rpc("anvil_setCode", [await view("POOL"), agentsCode()]);
  await chain.activate(alice, 10_000_000n);
  await chain.finalize();

  const { ledger, jobs, use } = gateway();
  await jobs.read();
  // The gateway's offer is above the capacity in the chain's pool. The second use is the protocol's.
  await use(`req_${"0".repeat(25)}1`, 3_000_000_007, true);
  await use(`req_${"0".repeat(25)}2`, 1_000_000_001, false);
  const bill = () => answer(ledger.rows(accountPartition(alice)), { type: "bill" });
  for (let round = 0; round < 20 && bill().debitedNanoUsd === 0; round++) {
    await jobs.post();
    await chain.finalize();
    await jobs.read();
  }
  assert.equal(bill().debitedNanoUsd, 4_000_000_008);
  const served = BigInt(CAPACITY_NANO_USD);
  assert.deepEqual(await view("accountOf", [alice]), [10_000_000_000n, 4_000_000_008n, served]);
  assert.equal(await view("owedProviderNanoUsd"), 4_000_000_008n - served);
  // 40 %, 50 % and 10 % of 2,000,000,013, each rounded down.
  assert.deepEqual(await view("owedAgentNanoUsd", [agent]), [800_000_005n, 1_000_000_006n]);
  assert.equal(await view("owedBackNanoUsd", [alice]), 200_000_001n);
});

/** A ledger in memory with an agent's offer, and the jobs that bring its uses to the chain. */
function gateway() {
  const [now, client] = [Date.now, createChainClient({ url: chain.rpcUrl, fetch, random: () => 0.5, timers })];
  const ledger = openMemoryHost({ now, epoch: () => 1 });
  const onAlert = (message: string): void => assert.fail(message);
  const common = { client, chainId: CHAIN_ID, settlement: chain.settlement, ledger, now, onAlert };
  const { startBlock } = chain;
  const watcher = createSettlementWatcher({ ...common, startBlock, confirmations: "finalized", mayBeCopy: false });
  const makeTree = statementTrees({ chainId: CHAIN_ID, address: chain.settlement }, pureKeccak);
  const terms = { postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 };
  const statements = createStatements({ ...common, terms, makeTree });
  const settler = createSettler({ ...common, account: privateKeyToAccount(privateKey) });

  const [at, owner, partition] = [now(), accountPartition(alice), chainPartition(CHAIN_ID)];
  ledger.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 50_000_000_000 });
  ledger.apply(owner, createKey("key1", { at, nonceExpiresAt: at + 600_000 }));
  ledger.apply(agentPartition(agent), { type: "setCapacity", at, limitNanoUsd: 9_000_000_000 });
  const signed = { hash: offer.offer, day: 0, shareBps: 10_000, nonce: 1, computer: "0xc", owner: "0xd" };
  ledger.apply(agentPartition(agent), { type: "setOffer", at, ...signed });

  async function use(id: string, chargeNanoUsd: number, isByAgent: boolean): Promise<void> {
    const request = {
      id,
      at: now(),
      owner,
      chain: partition,
      payer: { kind: "key", digest: "digest of key1" },
    } as const;
    const hold = { amountNanoUsd: chargeNanoUsd, leaseMs: 900_000, detail: "{}", offers: isByAgent ? [offer] : [] };
    const admission = await ledger.run(() => reserveRequest({ ...request, ...hold }));
    assert.deepEqual("server" in admission && admission.server, isByAgent ? offer : null, JSON.stringify(admission));
    const end = { chargeNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "5".repeat(32) };
    await ledger.run(() => sendHeard(partition, owner, { type: "settle", id, at: request.at, ...end }));
  }
  const jobs = {
    async read() {
      while ((await watcher.poll()).outcome === "advanced");
    },
    async post() {
      await statements.poll();
      await settler.poll();
    },
  };
  return { ledger, jobs, use };
}

/** Pool and registry: anyone is an agent with one capacity. */
function agentsCode(): Hex {
  const [isAgent, capacityOn] = ["isAgent(address)", "capacityOn(address,uint256)"].map((signature) =>
    toFunctionSelector(signature).slice(2),
  );
  const capacity = CAPACITY_NANO_USD.toString(16).padStart(16, "0");
  return `0x5f3560e01c8063${isAgent}1481600118028163${capacityOn}148267${capacity}180218185f5260205ff3`;
}
