import assert from "node:assert/strict";
import { test } from "node:test";
import { createActivationWatcher } from "@inference/chain/activation-watcher";
import { createChainClient, RpcError } from "@inference/chain/rpc";
import { chain } from "@inference/chain/testing/shared-chain";
import { timers } from "@inference/chain/testing/timers";
import type { LedgerClient } from "@inference/ledger/client";
import { accountPartition, ceilingPartition, chainPartition, journalPartition } from "@inference/ledger/partition";
import { answer } from "@inference/ledger/reads";
import { settledUse } from "@inference/ledger/settled-use";
import { type MemoryHost, openMemoryHost } from "@inference/ledger/testing/memory-host";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Address } from "@inference/protocol/credential";
import { verifyUse } from "@inference/protocol/use-leaf";
import { useTree } from "@inference/protocol/use-tree";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { createPublicClient, encodeErrorResult, type Hex, http, keccak256, parseTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { SettlerLimits } from "./desk.ts";
import { createSettler, type Settler } from "./settler.ts";

/** The settler on a real chain with the real contracts: what it posts, and what becomes of it when things go wrong. */
/** Of the chain's settler. */
const privateKey = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const payers = [1, 2, 3].map((n): Address => `0x${String(n).repeat(40)}`);
const [first = "0x", second = "0x", third = "0x"] = payers;
const DOLLAR = 1_000_000_000;

type World = {
  host: MemoryHost;
  alerts: string[];
  clock: { now: number };
  /** Uses that were admitted now, one of each amount. */
  use(account: Address, ...amounts: number[]): void;
  open(limits?: Partial<SettlerLimits>, through?: Node, ledger?: LedgerClient): Settler;
  /** Reads the chain into the ledger. */
  watch(): Promise<void>;
  /** What was credited to an account, less what was taken from it. */
  balance(account: Address): number | null;
  batches(): { batch: number; state: string; settledBy: string | null }[];
};

/** What a node makes of a request that `ask` answers truthfully. */
type Node = (method: string, params: readonly unknown[], ask: () => Promise<unknown>) => Promise<unknown>;

async function makeWorld(): Promise<World> {
  await chain.finalize();
  const { timestamp } = await chain.rpc<{ timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
  const clock = { now: Math.max(Date.now(), Number(timestamp) * 1_000) };
  const host = openMemoryHost({ now: () => clock.now });
  const alerts: string[] = [];
  const { rpcUrl: url, settlement, startBlock } = chain;
  const client = createChainClient({ url, fetch, random: () => 0.5, timers, tries: 1 });
  let uses = 0;
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 50 * DOLLAR });
  return {
    host,
    alerts,
    clock,
    use(payer, ...amounts) {
      for (const chargeNanoUsd of amounts) {
        uses += 1;
        const id = `req_${String(uses).padStart(26, "0")}`;
        const use = { id, account: payer, chargeNanoUsd, admittedAt: clock.now, server: "protocol" };
        host.apply(journalPartition(utcDay(clock.now)), { type: "journal", ...use });
      }
    },
    open: (limits = {}, through = (_method, _params, ask) => ask(), ledger = host) =>
      createSettler({
        client: { request: (method, params) => through(method, params, () => client.request(method, params)) },
        ...{ chainId: 31337, settlement, startBlock, privateKey, ledger, now: () => ++clock.now },
        ...{ confirmations: "finalized", onAlert: (message) => alerts.push(message) },
        limits: { intervalMs: 0, ...limits },
      }),
    async watch() {
      const identity = { chainId: 31337, settlement, startBlock, confirmations: "finalized" } as const;
      const watcher = createActivationWatcher({
        ...{ ...identity, client, ledger: host, now: () => clock.now, onAlert: (message) => alerts.push(message) },
      });
      while ((await watcher.poll()).outcome === "advanced");
      host.deliverAll();
    },
    balance: (payer) => answer(host.rows(accountPartition(payer)), { type: "balance", at: clock.now }).limitNanoUsd,
    batches: () =>
      answer(host.rows(chainPartition(31337)), { type: "batches", limit: 10 }).map(({ batch, state, settledBy }) => {
        return { batch, state, settledBy };
      }),
  };
}

const reader = () => createPublicClient({ transport: http(chain.rpcUrl) });
const creditOf = (payer: Address) =>
  reader().readContract({
    ...{ address: chain.settlement, abi: inferenceSettlementAbi },
    ...{ functionName: "creditNanoUsd", args: [payer] },
  });

/** Mines and polls until no batch is on its way. */
async function settleAll(settler: Settler): Promise<void> {
  for (let polls = 0; polls < 20; polls++) {
    const { state } = await settler.poll();
    if (state !== "posting") return;
    await chain.finalize();
  }
  throw new Error(`the batches do not get through: ${JSON.stringify(settler.status(), (_, value) => String(value))}`);
}

test("uses are posted in one batch, and each is proved by its contract and by anybody", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.activate(second, 5_000_000n);
  world.use(first, 1, 2_500, DOLLAR);
  world.use(second, 7);
  const settler = world.open();
  assert.equal((await settler.poll()).state, "posting");
  assert.equal(world.batches()[0]?.state, "signed");
  await settleAll(settler);
  const [batch] = answer(world.host.rows(chainPartition(31337)), { type: "batches", limit: 1 });
  assert.deepEqual([batch?.state, batch?.uses, batch?.amountNanoUsd], ["settled", 4, DOLLAR + 2_508]);
  assert.equal(await creditOf(first), BigInt(4 * DOLLAR - 2_501));
  assert.equal(await creditOf(second), BigInt(5 * DOLLAR - 7));
  const uses = world.host.all("use").map(({ row }) => settledUse(1, row));
  const settlement = { chainId: 31337, address: chain.settlement };
  const tree = useTree(settlement, uses);
  for (const use of uses) assert.ok(verifyUse((batch?.root ?? "0x") as Hex, settlement, use, tree.proofOf(use)));
  world.use(first, 3);
  await settleAll(settler);
  assert.deepEqual(
    world.batches().map(({ batch, state }) => [batch, state]),
    [
      [2, "settled"],
      [1, "settled"],
    ],
  );
  assert.deepEqual(world.alerts, []);
});

test("the watcher knows the settler's batches from others, and takes nothing from the balances for them", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 1, 2_500);
  await settleAll(world.open());
  await world.watch();
  const [posted] = answer(world.host.rows(chainPartition(31337)), { type: "posted", limit: 1 });
  assert.deepEqual([posted?.origin, posted?.amountNanoUsd], ["ours", 2_501]);
  assert.equal(world.balance(first), 5 * DOLLAR);
  assert.deepEqual(world.alerts, []);
});

test("uses wait for others until the interval is over or a batch is full", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  const settler = world.open({ intervalMs: 600_000, maxUses: 3 });
  world.use(first, 1, 1);
  assert.equal((await settler.poll()).state, "idle");
  world.clock.now += 600_000;
  assert.equal((await settler.poll()).state, "posting");
  await settleAll(settler);
  world.use(first, 1, 1, 1, 1);
  await settleAll(settler);
  assert.equal(world.host.all("use").filter(({ row }) => row.batch === null).length, 1);
});

test("each shard's journal is posted in batches of its own, each as soon as its uses have waited", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  const [day, admittedAt] = [utcDay(world.clock.now), world.clock.now];
  for (const shard of [1, 2, 3]) {
    const use = { id: `req_${shard}`, account: first, chargeNanoUsd: shard, admittedAt, server: "protocol" };
    world.host.apply(journalPartition(`${day}:${shard}`), { type: "journal", ...use });
  }
  const settler = world.open({ intervalMs: 600_000 });
  assert.equal((await settler.poll()).state, "idle", "the day's journal is not told of them yet");
  world.host.deliverAll();
  assert.equal((await settler.poll()).state, "idle");
  world.clock.now += 600_000;
  await settleAll(settler);
  const batches = answer(world.host.rows(chainPartition(31337)), { type: "batches", limit: 9 });
  assert.deepEqual(
    batches.map(({ journal, amountNanoUsd, state }) => [journal, amountNanoUsd, state]),
    [3, 2, 1].map((shard) => [`${day}:${shard}`, shard, "settled"]),
  );
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 6));
});

test("the journals of a day that is over are looked at once in an interval, and what comes late is posted then", async () => {
  const world = await makeWorld();
  const { host, clock } = world;
  const [day, admittedAt] = [utcDay(clock.now), clock.now];
  // After the hours in which the contract still takes the day that is over.
  clock.now = Date.parse(day) + 1.5 * DAY_MS;
  let looks = 0;
  const read: typeof host.read = (partition, query) => {
    if (partition === journalPartition(day)) looks += 1;
    return host.read(partition, query);
  };
  const settler = world.open({ intervalMs: 600_000 }, undefined, { ...host, read });
  for (let polls = 0; polls < 5; polls++) assert.equal((await settler.poll()).state, "idle");
  assert.equal(looks, 1);
  const late = { id: "req_late", account: first, chargeNanoUsd: 2, admittedAt, server: "protocol" };
  host.apply(journalPartition(day), { type: "journal", ...late });
  assert.equal((await settler.poll()).state, "idle");
  clock.now += 600_000;
  await settler.poll();
  const [batch] = answer(host.rows(chainPartition(31337)), { type: "batches", limit: 1 });
  assert.equal(batch?.journal, day);
});

test("a settler that stops between any two of its steps goes on, and posts each use once", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  const total = [1, 20, 300].reduce((sum, amount) => sum + amount);
  for (const amount of [1, 20, 300]) {
    world.use(first, amount);
    // Each poll is one of a settler that has just started, and dies at its first, second, ... command or call.
    for (let died = 1; world.batches()[0]?.state !== "settled" || waiting(world) > 0; died++) {
      assert.ok(died < 60, "it does not get through");
      await dyingAfter(world, died % 7).poll();
      await chain.finalize();
    }
  }
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - total));
  assert.equal(world.batches().length, 3);
});

const waiting = ({ host }: World): number => host.all("use").filter(({ row }) => row.batch === null).length;

/** Its ledger takes so many commands, and then the process is gone. */
function dyingAfter(world: World, commands: number): Settler {
  let left = commands;
  const { host } = world;
  const dying = {
    ...host,
    run: <T>(saga: Parameters<typeof host.run<T>>[0]) => {
      if (left === 0) return new Promise<T>((_, refuse) => refuse(new Error("died")));
      left -= 1;
      return host.run(saga);
    },
  };
  const { rpcUrl: url, settlement, startBlock } = chain;
  const client = createChainClient({ url, fetch, random: () => 0.5, timers, tries: 1 });
  return createSettler({
    ...{ client, chainId: 31337, settlement, startBlock, privateKey, ledger: dying, now: () => ++world.clock.now },
    ...{ confirmations: "finalized", onAlert: () => {}, limits: { intervalMs: 0 } },
  });
}

test("an account without the credit on chain is set aside with an alert, and the others are posted", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.activate(third, 5_000_000n);
  await chain.finalize();
  world.use(first, 1);
  world.use(second, 2);
  world.use(third, 3);
  await settleAll(world.open());
  assert.deepEqual([await creditOf(first), await creditOf(third)], [BigInt(5 * DOLLAR - 1), BigInt(5 * DOLLAR - 3)]);
  assert.equal(world.host.alerts.length, 1);
  assert.match(world.host.alerts[0] ?? "", /0x2222.*is refused on chain \(credit\), and is not posted/);
  assert.deepEqual(world.batches().length, 1);
});

test("a transaction that vanishes in a reorg is sent again under the same number", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  const settler = world.open();
  await settler.poll();
  await chain.mine(2);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
  await chain.reorg(3);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR));
  await settleAll(settler);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
  assert.equal(answer(world.host.rows(chainPartition(31337)), { type: "batch", batch: 1 })?.signed.length, 1);
});

test("a stuck transaction is replaced by one that pays more, and the batch is settled once", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.pauseMining();
  world.use(first, 5);
  const settler = world.open({ stuckAfterMs: 60_000 });
  await settler.poll();
  await settler.poll();
  world.clock.now += 60_000;
  await settler.poll();
  const signed = answer(world.host.rows(chainPartition(31337)), { type: "batch", batch: 1 })?.signed ?? [];
  assert.deepEqual([signed.length, signed[0]?.nonce], [2, signed[1]?.nonce]);
  assert.ok(BigInt(signed[0]?.maxFeePerGasWei ?? 0) * 10n >= BigInt(signed[1]?.maxFeePerGasWei ?? 0) * 11n);
  await chain.finalize();
  await settleAll(settler);
  assert.equal(world.batches()[0]?.settledBy, signed[0]?.hash);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
});

test("a batch that somebody else posted with the same key stops the settler, and nothing is debited twice", async () => {
  const [ours, other] = [await makeWorld(), await makeWorld()];
  await chain.activate(first, 5_000_000n);
  ours.use(first, 5);
  other.use(first, 9);
  const settler = ours.open();
  await settleAll(other.open());
  assert.equal((await settler.poll()).state, "halted");
  assert.match(ours.alerts.join(), /batch 1 on chain 31337 is not one of ours/);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 9));
  await ours.watch();
  assert.equal(ours.balance(first), 5 * DOLLAR - 9, "the account is capped at the chain's credit");
  assert.match(ours.host.alerts.join(), /batch 1 of 9 is not ours/);
  assert.equal(ours.open().status().state, "starting");
});

test("two settlers with one key, each with its copy of the books, settle every use once; one of them stops", async () => {
  const worlds = [await makeWorld(), await makeWorld()];
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  const settlers = worlds.map((world) => world.open());
  const live = async (): Promise<void> => {
    for (let polls = 0; polls < 6; polls++) {
      await Promise.all(settlers.map((settler) => settler.poll()));
      await chain.finalize();
      for (const world of worlds) await world.watch();
    }
  };
  // Of before the copy was made: both post them.
  for (const world of worlds) world.use(first, 5, 70);
  await live();
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 75));
  // Of requests that only one of them served.
  for (const [place, world] of worlds.entries()) world.use(first, 100 + place);
  await live();
  const states = settlers.map((settler) => settler.status().state);
  assert.deepEqual(states.toSorted(), ["halted", "idle"]);
  const stopped = states.indexOf("halted");
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 75 - (101 - stopped)), "only the other one's use");
  assert.match(worlds[stopped]?.alerts.join() ?? "", /is not one of ours: another settler posts/);
  for (const [place, world] of worlds.entries()) {
    const settled = world.batches().filter(({ state }) => state === "settled");
    assert.deepEqual(
      settled.map(({ batch }) => batch),
      place === stopped ? [1] : [2, 1],
    );
  }
});

test("books that are older than the chain stop the settler", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  world.use(first, 5);
  await settleAll(world.open());
  const restored = await makeWorld();
  restored.use(first, 5);
  assert.equal((await restored.open().poll()).state, "halted");
});

test("uses of a day that is over are paid from its own ceiling until 06:00, then from the next day's", async () => {
  for (const { hour, paidFrom } of [
    { hour: 2, paidFrom: 0 },
    { hour: 7, paidFrom: 1 },
  ]) {
    const world = await makeWorld();
    await chain.activate(first, 5_000_000n);
    world.use(first, 5);
    const tomorrow = Date.parse(utcDay(world.clock.now)) + 86_400_000;
    world.clock.now = tomorrow + hour * 3_600_000;
    await chain.rpc("evm_setNextBlockTimestamp", [world.clock.now / 1_000]);
    await chain.mine();
    await settleAll(world.open());
    const paid = await reader().readContract({
      ...{ address: chain.settlement, abi: inferenceSettlementAbi, functionName: "paidNanoUsd" },
      args: [BigInt(tomorrow / 86_400_000 - 1 + paidFrom)],
    });
    assert.equal(paid, 5n, `at ${hour}:00`);
    const ceiling = answer(world.host.rows(ceilingPartition), { type: "ceiling", at: world.clock.now });
    assert.equal(ceiling.settledNanoUsd, 5 * paidFrom, "what is carried counts under the ceiling that pays");
    await chain.reset();
  }
});

test("a batch that the day's ceiling has no room for is posted in parts, the rest on the next day", async () => {
  const world = await makeWorld();
  await chain.activate(first, 50_000_000n);
  await chain.lowerCeiling(3_000_000_000n);
  world.use(first, DOLLAR, DOLLAR, DOLLAR, DOLLAR);
  const settler = world.open();
  for (let polls = 0; polls < 20 && (await settler.poll()).state !== "waiting"; polls++) await chain.finalize();
  assert.equal(await creditOf(first), BigInt(47 * DOLLAR));
  assert.match(settler.status().reason ?? "", /no day's ceiling has room for batch/);
  world.clock.now = Date.parse(utcDay(world.clock.now)) + 86_400_000;
  await chain.rpc("evm_setNextBlockTimestamp", [world.clock.now / 1_000]);
  await chain.mine();
  await settleAll(settler);
  assert.equal(await creditOf(first), BigInt(46 * DOLLAR));
});

test("where the ceiling is lowered below what is paid, uses wait for the next day, and none is set aside", async () => {
  const world = await makeWorld();
  await chain.activate(first, 50_000_000n);
  world.use(first, 4 * DOLLAR);
  const settler = world.open();
  await settleAll(settler);
  await chain.lowerCeiling(3_000_000_000n);
  await chain.finalize();
  world.use(first, 2 * DOLLAR, DOLLAR);
  for (let polls = 0; polls < 20 && (await settler.poll()).state !== "waiting"; polls++) await chain.finalize();
  assert.match(settler.status().reason ?? "", /no day's ceiling has room for batch 2/);
  assert.equal(await creditOf(first), BigInt(46 * DOLLAR));
  world.clock.now = Date.parse(utcDay(world.clock.now)) + 86_400_000;
  await chain.rpc("evm_setNextBlockTimestamp", [world.clock.now / 1_000]);
  await chain.mine();
  await settleAll(settler);
  for (let polls = 0; polls < 20 && (await settler.poll()).state !== "idle"; polls++) await chain.finalize();
  assert.equal(await creditOf(first), BigInt(43 * DOLLAR));
  assert.deepEqual(world.host.alerts, []);
});

test("a use that costs more than a day's ceiling is set aside, and the others are posted", async () => {
  const world = await makeWorld();
  await chain.activate(first, 50_000_000n);
  await chain.lowerCeiling(3_000_000_000n);
  await chain.finalize();
  world.use(first, 3 * DOLLAR + 1, DOLLAR, 2 * DOLLAR);
  const settler = world.open();
  for (let polls = 0; polls < 20 && (await settler.poll()).state !== "idle"; polls++) await chain.finalize();
  assert.equal(await creditOf(first), BigInt(47 * DOLLAR));
  assert.match(world.host.alerts.join(), /is refused on chain \(ceiling\)/);
});

test("a use that comes more than a week late is posted on the next day", async () => {
  const world = await makeWorld();
  await chain.activate(first, 50_000_000n);
  const start = world.clock.now;
  const later = Math.floor(start / 1_000) + 9 * 86_400;
  await chain.rpc("evm_setNextBlockTimestamp", [later]);
  await chain.finalize();
  world.clock.now = later * 1_000;
  world.use(first, 5);
  const settler = world.open();
  await settleAll(settler);
  world.clock.now = start;
  world.use(first, 7);
  world.clock.now = later * 1_000 + 86_400_000;
  await chain.rpc("evm_setNextBlockTimestamp", [later + 86_400]);
  await chain.finalize();
  await settleAll(settler);
  assert.equal(await creditOf(first), BigInt(50 * DOLLAR - 12));
});

/** Says that the contract reverted with one of its errors, to simulations of `settle`. */
const refusing =
  (errorName: "WrongDay" | "WrongBatch" | "InsufficientCredit", args: readonly unknown[]): Node =>
  (method, params, ask) => {
    const [call, block] = params as [{ from?: string }?, unknown?];
    if (method !== "eth_call" || call?.from === undefined || block !== "latest") return ask();
    const data = encodeErrorResult({ abi: inferenceSettlementAbi, errorName, args } as never);
    return Promise.reject(new RpcError(3, "execution reverted", data));
  };

test("a node whose latest block is behind makes the settler wait, and sets no use aside", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  for (const behind of [
    refusing("WrongDay", [2n, 1n]),
    refusing("WrongBatch", [0n, 1n]),
    refusing("InsufficientCredit", [first, 5n, 0n]),
  ]) {
    assert.equal((await world.open({}, behind).poll()).state, "waiting");
  }
  assert.deepEqual(world.host.alerts, []);
  await settleAll(world.open());
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
});

test("a latest block that refuses an account whose credit is final, beside one without credit, sets no use aside", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  world.use(second, 2);
  const args = [first, 5n, 0n] as const;
  const data = encodeErrorResult({ abi: inferenceSettlementAbi, errorName: "InsufficientCredit", args });
  const behind: Node = (method, params, ask) => {
    const [call, block] = params as [{ from?: string }?, unknown?];
    const isRefused = method === "eth_call" && call?.from !== undefined && block === "latest";
    return isRefused ? Promise.reject(new RpcError(3, "execution reverted", data)) : ask();
  };
  assert.equal((await world.open({}, behind).poll()).state, "waiting");
  assert.deepEqual(world.host.alerts, []);
  await settleAll(world.open());
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
});

test("uses that are admitted after midnight, before the chain's first block of the day, wait for it", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.clock.now = Date.parse(utcDay(world.clock.now)) + 86_400_000;
  world.use(first, 5);
  const settler = world.open();
  assert.equal((await settler.poll()).state, "waiting");
  await chain.rpc("evm_setNextBlockTimestamp", [Math.floor(world.clock.now / 1_000)]);
  await chain.mine();
  await settleAll(settler);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
});

test("a transaction that may not become dearer is sent again as it is", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  world.use(first, 5);
  let isLost = true;
  const node: Node = (method, _params, ask) =>
    isLost && method === "eth_sendRawTransaction" ? Promise.resolve(null) : ask();
  const settler = world.open({ stuckAfterMs: 60_000 }, node);
  await settler.poll();
  for (let minute = 0; minute < 60; minute++) {
    world.clock.now += 60_000;
    await settler.poll();
  }
  const [batch] = answer(world.host.rows(chainPartition(31337)), { type: "batches", limit: 1 });
  const fees = (batch?.signed ?? []).map(({ maxFeePerGasWei }) => Number(maxFeePerGasWei));
  assert.ok(Math.max(...fees) <= 4 * Math.min(...fees), `the fees rise from ${fees.at(-1)} to ${fees[0]}`);
  assert.equal(settler.status().state, "waiting");
  isLost = false;
  await settler.poll();
  await chain.finalize();
  await settleAll(settler);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 5));
});

test("a clock that was wrong for a while does not keep uses from being posted", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  const settler = world.open({ intervalMs: 600_000, maxUses: 3 });
  world.clock.now += 30 * 86_400_000;
  world.use(first, 1, 1, 1);
  assert.equal((await settler.poll()).state, "waiting");
  world.clock.now -= 30 * 86_400_000;
  await settleAll(settler);
  world.use(first, 1);
  world.clock.now += 600_000;
  await settleAll(settler);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 4));
});

test("a node that lacks the first block, or answers with no digits, makes the settler wait", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  world.clock.now += 86_400_000;
  const start = `0x${chain.startBlock.toString(16)}`;
  const lacking = world.open({}, (method, params, ask) =>
    method === "eth_getBlockByNumber" && params[0] === start ? Promise.resolve(null) : ask(),
  );
  assert.equal((await lacking.poll()).state, "waiting");
  for (const bad of ["eth_getBalance", "eth_maxPriorityFeePerGas"]) {
    const settler = world.open({}, (method, _params, ask) => (method === bad ? Promise.resolve("0x") : ask()));
    assert.equal((await settler.poll()).state, "waiting", bad);
  }
});

test("a receipt of another fork is not taken for the transaction that settled the batch", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  await chain.pauseMining();
  world.use(first, 5);
  const settler = world.open({ stuckAfterMs: 60_000 });
  await settler.poll();
  world.clock.now += 60_000;
  await settler.poll();
  await chain.mine();
  await chain.finalize();
  const signed = answer(world.host.rows(chainPartition(31337)), { type: "batch", batch: 1 })?.signed ?? [];
  const [newest, replaced] = signed;
  const fork = { blockHash: `0x${"f".repeat(64)}`, blockNumber: "0x1", status: "0x1" };
  const lying = world.open({}, async (method, params, ask) => {
    if (method !== "eth_getTransactionReceipt") return ask();
    return params[0] === replaced?.hash ? { ...fork, transactionHash: replaced?.hash } : null;
  });
  assert.equal((await lying.poll()).state, "waiting");
  await settleAll(settler);
  assert.equal(world.batches()[0]?.settledBy, newest?.hash);
});

test("our batch, sent in another transaction by a co-holder of the key, is settled by that one", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  const lossy: Node = (method, _params, ask) => (method === "eth_sendRawTransaction" ? Promise.resolve(null) : ask());
  assert.equal((await world.open({}, lossy).poll()).state, "posting");
  const [ours] = answer(world.host.rows(chainPartition(31337)), { type: "batches", limit: 1 });
  const { type: _, r: _r, s: _s, v: _v, yParity: _y, ...seen } = parseTransaction(ours?.signed[0]?.raw as Hex);
  const copy = { ...seen, type: "eip1559", gas: 2_000_000n } as const;
  const raw = await privateKeyToAccount(privateKey).signTransaction(copy as never);
  await chain.rpc("eth_sendRawTransaction", [raw]);
  await chain.finalize();
  assert.equal((await world.open().poll()).state, "waiting");
  await world.watch();
  world.use(first, 7);
  await settleAll(world.open());
  assert.equal(world.batches()[1]?.settledBy, keccak256(raw));
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 12));
});

test("a batch is settled by the transaction that the chain has, where our books do not know that it was signed", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  // Its last commands are lost with the books: the batch is built, and its transaction is sent.
  const newest = await makeWorld();
  newest.clock.now = world.clock.now;
  newest.use(first, 5);
  await dyingAfter(world, 3).poll();
  assert.equal(world.batches()[0]?.state, "built");
  await settleAll(newest.open());
  await world.watch();
  world.use(first, 7);
  await settleAll(world.open());
  assert.deepEqual([world.batches().length, world.batches()[1]?.settledBy], [2, newest.batches()[0]?.settledBy]);
  assert.equal(await creditOf(first), BigInt(5 * DOLLAR - 12));
  assert.equal(world.balance(first), 5 * DOLLAR);
});

test("a node that denies an account's credit, which the ledger has read, sets no use aside", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.activate(second, 5_000_000n);
  await chain.finalize();
  await world.watch();
  world.use(first, 1);
  world.use(second, 4 * DOLLAR);
  const args = [second, BigInt(4 * DOLLAR), 0n] as const;
  const data = encodeErrorResult({ abi: inferenceSettlementAbi, errorName: "InsufficientCredit", args });
  const denying: Node = (method, params, ask) => {
    const [call] = params as [{ from?: string; data?: string }?];
    const isOfSecond = call?.from !== undefined && call.data?.includes(second.slice(2)) === true;
    return method === "eth_call" && isOfSecond ? Promise.reject(new RpcError(3, "execution reverted", data)) : ask();
  };
  assert.equal((await world.open({}, denying).poll()).state, "waiting");
  await settleAll(world.open());
  assert.equal(await creditOf(second), BigInt(DOLLAR));
});

test("a node that asks for a tip of 400 gwei where a block costs one does not get it", async () => {
  const world = await makeWorld();
  await chain.activate(first, 5_000_000n);
  await chain.finalize();
  world.use(first, 5);
  const greedy: Node = (method, _params, ask) =>
    method === "eth_maxPriorityFeePerGas" ? Promise.resolve("0x5d21dba000") : ask();
  await world.open({}, greedy).poll();
  const [batch] = answer(world.host.rows(chainPartition(31337)), { type: "batches", limit: 1 });
  const { maxPriorityFeePerGas } = parseTransaction(batch?.signed[0]?.raw as Hex);
  assert.ok((maxPriorityFeePerGas ?? 0n) <= 4_000_000_000n, `${maxPriorityFeePerGas}`);
});
