import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { createActivationWatcher } from "@inference/chain/activation-watcher";
import { createChainClient } from "@inference/chain/rpc";
import { type Anvil, FINALITY_DEPTH, startAnvil } from "@inference/chain/testing/anvil";
import { deploySettlement } from "@inference/chain/testing/settlement";
import { timers } from "@inference/chain/testing/timers";
import { ceilingPartition, chainPartition, journalPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import { settledUse } from "@inference/ledger/settled-use";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { useTree } from "@inference/protocol/use-tree";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";
import { createPublicClient, encodeFunctionData, type Hex, http } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { createSettler } from "./settler.ts";

/**
 * Uses that agents served, on the real settlement contract. Its neighbours only answer: every address is an agent with
 * a capacity of 1,000,000 nano-dollars a day, and tokens are burned and minted without a trace.
 */
const settler = mnemonicToAccount("test test test test test test test test test test test junk");
const privateKey = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const [first, second, agent, other]: Address[] = [1, 2, 10, 11].map((n): Address => `0x${String(n).padStart(40, "c")}`);
const offer: Hex = `0x${"0f".repeat(32)}`;
const CAPACITY = 1_000_000;

let anvil: Anvil;
let settlement: Address;
let snapshot: unknown;
before(async () => {
  anvil = await startAnvil();
  const word = (value: number) => `0x62${value.toString(16).padStart(6, "0")}5f5260205ff3`;
  const parts = { token: 0xa1, minter: 0xa2, registry: 0xa3, pool: 0xa4 };
  const at = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}`;
  for (const part of [parts.token, parts.minter]) await anvil.rpc("anvil_setCode", [at(part), word(0)]);
  await anvil.rpc("anvil_setCode", [at(parts.registry), word(1)]);
  await anvil.rpc("anvil_setCode", [at(parts.pool), word(CAPACITY)]);
  settlement = await deploySettlement(anvil.rpcUrl, {
    ...{ token: at(parts.token), minter: at(parts.minter), registry: at(parts.registry), pool: at(parts.pool) },
  });
  for (const account of [first, second] as Address[]) {
    const data = encodeFunctionData({
      ...{ abi: inferenceSettlementAbi, functionName: "activateFor", args: [10_000n, account] },
    });
    await anvil.rpc("eth_sendTransaction", [{ from: settler.address, to: settlement, data, gas: "0x100000" }]);
  }
  await finalize();
  snapshot = await anvil.rpc("evm_snapshot");
});
after(() => anvil?.stop());
afterEach(async () => {
  await anvil.rpc("evm_revert", [snapshot]);
  snapshot = await anvil.rpc("evm_snapshot");
});

const finalize = () => anvil.rpc("anvil_mine", [`0x${(FINALITY_DEPTH + 1).toString(16)}`]);
const contract = () => ({ address: settlement, abi: inferenceSettlementAbi }) as const;
const reader = () => createPublicClient({ transport: http(anvil.rpcUrl) });
const creditOf = (account = first as Address) =>
  reader().readContract({ ...contract(), functionName: "creditNanoUsd", args: [account] });
const servedBy = (token: Address | undefined, day: number) =>
  reader().readContract({ ...contract(), functionName: "servedNanoUsd", args: [token as Address, BigInt(day)] });

async function open() {
  const { timestamp } = await anvil.rpc<{ timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
  const clock = { now: Math.max(Date.now(), Number(timestamp) * 1_000) };
  const ledger = openMemoryHost({ now: () => clock.now });
  ledger.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 50_000_000_000 });
  const client = createChainClient({ url: anvil.rpcUrl, fetch, random: () => 0.5, timers, tries: 1 });
  const alerts: string[] = [];
  const identity = { client, ledger, chainId: 31337, settlement, startBlock: 0, confirmations: "finalized" } as const;
  const common = { ...identity, now: () => ++clock.now, onAlert: (message: string) => alerts.push(message) };
  const poster = createSettler({ ...common, privateKey, limits: { intervalMs: 0 } });
  const watcher = createActivationWatcher(common);
  let uses = 0;
  return {
    ...{ clock, ledger, alerts },
    use(account: Address | undefined, chargeNanoUsd: number, server: Address | "protocol" | undefined) {
      uses += 1;
      const id = `req_${String(uses).padStart(26, "0")}`;
      const use = { id, account: account ?? "", chargeNanoUsd, admittedAt: clock.now, server: server ?? "protocol" };
      const served = server === "protocol" ? {} : { offer };
      ledger.apply(journalPartition(utcDay(clock.now)), { type: "journal", ...use, ...served });
      return id;
    },
    poll: () => poster.poll(),
    async settleAll() {
      for (let polls = 0; polls < 20 && (await poster.poll()).state === "posting"; polls++) await finalize();
      return poster.status();
    },
    async origins() {
      while ((await watcher.poll()).outcome === "advanced");
      return answer(ledger.rows(chainPartition(31337)), { type: "posted", limit: 5 }).map(({ origin }) => origin);
    },
    setAside: () => ledger.all("use").flatMap(({ row }) => (row.setAside === null ? [] : [[row.id, row.setAside]])),
  };
}

test("what agents served is posted as their serves, beside the debits, and each use is proved with its agent", async () => {
  const world = await open();
  const day = dayNumber(world.clock.now);
  world.use(first, 100, "protocol");
  world.use(first, 3_000, agent);
  world.use(second, 50, agent);
  world.use(second, 7, other);
  world.use(first, 20, agent);
  assert.equal((await world.settleAll()).state, "idle");
  assert.deepEqual([await servedBy(agent, day), await servedBy(other, day)], [3_070n, 7n]);
  assert.deepEqual([await creditOf(first), await creditOf(second)], [10_000_000n - 3_120n, 10_000_000n - 57n]);
  const owed = await reader().readContract({ ...contract(), functionName: "owedProviderNanoUsd" });
  assert.equal(owed, 100n, "the provider is owed what its own account served");
  const settled = world.ledger.all("use").map(({ row }) => settledUse(1, row));
  const tree = useTree({ chainId: 31337, address: settlement }, settled);
  const [root] = answer(world.ledger.rows(chainPartition(31337)), { type: "batches", limit: 1 }).map((one) => one.root);
  assert.equal(tree.root, root);
  assert.deepEqual(await world.origins(), ["ours"]);
});

test("what an agent served beyond its capacity is set aside, and everything else is posted", async () => {
  const world = await open();
  const day = dayNumber(world.clock.now);
  world.use(first, CAPACITY - 10, agent);
  const beyond = world.use(first, 11, agent);
  world.use(first, 5, "protocol");
  assert.equal((await world.settleAll()).state, "idle");
  assert.deepEqual(world.setAside(), [[beyond, "capacity"]]);
  assert.equal(await servedBy(agent, day), BigInt(CAPACITY - 10));
  assert.equal(await creditOf(), 10_000_000n - BigInt(CAPACITY - 5));
  assert.match(world.ledger.alerts.join(), /is refused on chain \(capacity\)/);
});

test("only the uses that exceed an account's credit are set aside", async () => {
  const world = await open();
  world.use(first, 9_000_000, "protocol");
  const beyond = world.use(first, 1_000_001, "protocol");
  assert.equal((await world.settleAll()).state, "idle");
  assert.deepEqual(world.setAside(), [[beyond, "credit"]]);
  assert.equal(await creditOf(), 1_000_000n);
});

test("a serve that is three days old is posted, and an older one is set aside", async () => {
  const world = await open();
  const start = world.clock.now;
  const expired = world.use(first, 1, agent);
  world.clock.now = start + DAY_MS;
  world.use(first, 20, agent);
  world.clock.now = start;
  const later = Math.floor((start - (start % DAY_MS) + 4 * DAY_MS + 12 * 3_600_000) / 1_000);
  await anvil.rpc("evm_setNextBlockTimestamp", [later]);
  await finalize();
  world.clock.now = later * 1_000;
  assert.equal((await world.settleAll()).state, "idle");
  assert.deepEqual(world.setAside(), [[expired, "expired"]]);
  assert.deepEqual([await servedBy(agent, dayNumber(start)), await servedBy(agent, dayNumber(start) + 1)], [0n, 20n]);
});

test("a signed batch whose serves grew too old before it was in a block does not stop all batches after it", async () => {
  const world = await open();
  const start = world.clock.now;
  world.use(first, 10, agent);
  // It is signed and sent, and in no block for four days: its gas was too low, or the account had none.
  await anvil.rpc("evm_setAutomine", [false]);
  assert.equal((await world.poll()).state, "posting");
  const [pending] = (await anvil.rpc<{ transactions: Hex[] }>("eth_getBlockByNumber", ["pending", false])).transactions;
  await anvil.rpc("anvil_dropTransaction", [pending]);
  await anvil.rpc("evm_setAutomine", [true]);
  const later = Math.floor((start - (start % DAY_MS) + 4 * DAY_MS + 12 * 3_600_000) / 1_000);
  await anvil.rpc("evm_setNextBlockTimestamp", [later]);
  await finalize();
  world.clock.now = later * 1_000;
  world.use(second, 7, "protocol");
  const { state, reason } = await world.settleAll();
  assert.equal(await creditOf(second), 9_999_993n, `nothing is posted any more: ${state} ${reason}`);
});

test("a clock that was days ahead for one poll sets no serve aside that the contract still takes", async () => {
  const world = await open();
  const start = world.clock.now;
  world.use(first, 1_000, agent);
  world.clock.now = start + 5 * DAY_MS;
  assert.equal((await world.settleAll()).state, "waiting");
  world.clock.now = start + 10_000;
  assert.equal((await world.settleAll()).state, "idle");
  assert.deepEqual(world.setAside(), []);
  assert.equal(await servedBy(agent, dayNumber(start)), 1_000n);
});

test("a clock that is days behind sets a serve aside only when both clocks say that it has expired", async () => {
  const world = await open();
  const start = world.clock.now;
  const expired = world.use(first, 1, agent);
  const later = Math.floor((start - (start % DAY_MS) + 4 * DAY_MS + 12 * 3_600_000) / 1_000);
  await anvil.rpc("evm_setNextBlockTimestamp", [later]);
  await finalize();
  assert.equal((await world.settleAll()).state, "waiting");
  assert.deepEqual(world.setAside(), []);
  world.clock.now = later * 1_000;
  assert.equal((await world.settleAll()).state, "idle");
  assert.deepEqual(world.setAside(), [[expired, "expired"]]);
});
