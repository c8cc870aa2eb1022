import { deepEqual, equal, ok } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, test } from "node:test";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { fundDollars } from "@inference/contracts/local-chains";
import { fundLocalToken } from "@inference/contracts/local-token";
import { until } from "@inference/devnet/relayer/testing/network";
import { agentFeeConverterAbi } from "@inference/protocol/abi/agent-fee-converter";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Address, erc20Abi, pad, parseEventLogs, zeroHash } from "viem";
import { type Keeper, startKeeper } from "./keeper.ts";
import type { Log } from "./log.ts";
import type { KeeperSettings } from "./settings.ts";
import {
  activateFromAfar,
  alice,
  type ChainSite,
  deployer,
  keeper,
  settler,
  startThreeChains,
  type ThreeChains,
} from "./testing/three-chains.ts";

const DOLLAR = 1_000_000n;
const DAY_SECONDS = 86_400;
let chains: ThreeChains;
const running = new Set<Keeper>();
const events: { level: string; event: string; [field: string]: unknown }[] = [];

before(async () => {
  chains = await startThreeChains();
});
afterEach(async () => {
  await stop(...running);
  events.length = 0;
});
after(() => chains[Symbol.asyncDispose]());

test("dollars below a batch stay, in silence and for nothing; a batch leaves", async () => {
  const site = chains.sites.secondary1;
  await mint(site, 5n * DOLLAR);
  start();
  await rounds();
  deepEqual([await pending(site), events], [5n * DOLLAR, []]);
  equal(await site.client.getTransactionCount({ address: keeper.address }), 0);
  await mint(site, 5n * DOLLAR);
  await until(() => told("done").length === 1);
  equal(await pending(site), 0n);
});

test("dollars that left a day ago and have not arrived are told of; when they arrive they are booked", async () => {
  const { primary, secondary1 } = chains.sites;
  start();
  await rounds();
  equal(told("late").length, 0);
  await passTime(secondary1, DAY_SECONDS + 60);
  await until(() => told("late").some(({ what, chain }) => what === "in flight" && chain === "secondary1"));
  const minter = { address: primary.at("tokenMinter"), abi: tokenMinterAbi } as const;
  const args = [secondary1.eid] as const;
  const inbox = await primary.client.readContract({ ...minter, functionName: "inboxOf", args });
  await fundDollars(primary, { issuer: deployer, to: inbox, dollars: 10n });
  await until(
    async () => (await primary.client.readContract({ ...minter, functionName: "lineOf", args }))[0] === 10n * DOLLAR,
  );
});

test("a dead bridge keeps the dollars, is told of, and after two hours as late; then they leave", async () => {
  const site = chains.sites.secondary2;
  const pool = { address: site.dollarPool, abi: dollarPool.abi } as const;
  const setPeer = (peer: `0x${string}`) =>
    site.client.writeContract({
      ...pool,
      account: deployer,
      functionName: "setPeer",
      args: [chains.sites.primary.eid, peer],
    });
  await site.sent(await setPeer(zeroHash));
  await mint(site, 20n * DOLLAR);
  start();
  await until(() => told("failed").length > 0);
  deepEqual([told("failed")[0]?.chore, told("failed")[0]?.level], ["flush", "alert"]);
  await rounds();
  equal(told("failed").length, 1, "once, however often it is tried");
  equal(told("late").length, 0);
  await passTime(site, 2 * 3_600 + 60);
  await until(() => told("late").some(({ what, chain }) => what === "flush" && chain === "secondary2"));
  equal(await pending(site), 20n * DOLLAR);
  await site.sent(await setPeer(pad(chains.sites.primary.dollarPool)));
  await until(async () => (await pending(site)) === 0n);
});

test("what would cost more than is left of the day's budget waits for the next day, also after a restart", async () => {
  const site = chains.sites.secondary2;
  await passTime(site, 3_700);
  await mint(site, 10n * DOLLAR);
  const settings = chains.settings({ dailyBudgetWei: 1_000_000n });
  let now = Date.UTC(2030, 0, 1);
  const clock = () => now;
  await stop(await exhausted(settings, clock));
  await stop(await exhausted(settings, clock));
  equal(await pending(site), 10n * DOLLAR);
  now += DAY_SECONDS * 1_000;
  const rich = { ...settings, dailyBudgetWei: 10n ** 18n };
  start(rich, clock);
  await until(async () => (await pending(site)) === 0n);
  await stop(...running);
  // What was spent is remembered: as much again does not fit.
  await passTime(site, 3_700);
  await mint(site, 10n * DOLLAR);
  const spent = await spentOn(site);
  await stop(await exhausted({ ...settings, dailyBudgetWei: spent + spent / 2n }, clock));
  equal(await pending(site), 10n * DOLLAR);
});

test("what a transaction can take counts before it is sent, and what it took when it is in a block", async () => {
  const site = chains.sites.secondary2;
  await passTime(site, 3_700);
  await mint(site, 10n * DOLLAR);
  const settings = chains.settings();
  await site.client.setAutomine(false);
  start(settings);
  const count = (blockTag: "latest" | "pending") =>
    site.client.getTransactionCount({ address: keeper.address, blockTag });
  await until(async () => (await count("pending")) > (await count("latest")));
  const most = countedIn(settings, site);
  ok(most > 0n);
  await site.client.setAutomine(true);
  await site.client.mine({ blocks: 1 });
  await until(() => told("done").some(({ chore, chain }) => chore === "flush" && chain === "secondary2"));
  ok(countedIn(settings, site) < most);
  equal(countedIn(settings, site), await spentOn(site));
});

test("what the settlement owes the provider is paid, unless it is less than is worth a payment", async () => {
  const site = chains.sites.primary;
  await mintAndActivate(site, 10n * DOLLAR);
  await settle(site, { id: 1n, amountNanoUsd: 999_999_999n });
  start();
  await rounds();
  const balance = () => balanceOf(site, site.stablecoin, site.protocolSafe);
  const before = await balance();
  equal(told("done").filter(({ chore }) => chore === "payProvider").length, 0);
  await settle(site, { id: 2n, amountNanoUsd: 2_000_000_001n });
  await until(async () => (await balance()) === before + 3n * DOLLAR);
});

test("agents' fees are converted and their treasuries' dollars spent, when the market has a history", async () => {
  const site = chains.sites.primary;
  const { agent, treasury, safe } = await createAgent(site);
  const units = 10n ** 18n;
  await fundLocalToken({
    rpcUrl: site.chain.rpcUrl,
    token: site.stakingToken,
    issuer: deployer,
    to: alice.address,
    amount: units,
  });
  const converter = { address: site.at("agentFeeConverter"), abi: agentFeeConverterAbi } as const;
  await approve(site, site.stakingToken, converter.address, units);
  const fee = {
    ...converter,
    account: alice,
    functionName: "notifyFee",
    args: [agent, site.stakingToken, units],
  } as const;
  await site.sent(await site.client.writeContract(fee));
  await fundDollars(site, { issuer: deployer, to: treasury, dollars: 30n });
  start();
  await rounds();
  equal(await balanceOf(site, site.at("inferenceToken"), safe), 0n);
  deepEqual(told("failed"), [], "a market that is too young is no failure");
  await passTime(site, 3_600);
  // A fifth of a unit at about 300 dollars, all of it to the Safe while nobody backs.
  await until(async () => (await balanceOf(site, site.at("inferenceToken"), safe)) > 55n * DOLLAR);
  const pool = { address: site.at("inferencePool"), abi: inferencePoolAbi } as const;
  const staked = () => site.client.readContract({ ...pool, functionName: "totalStakeOf", args: [agent] });
  await until(async () => (await staked()) > units / 11n);
  equal(await balanceOf(site, site.stablecoin, treasury), 0n);
});

test("dust costs the keeper nothing: fees of a unit stay, and a unit in an inbox is booked a day later", async () => {
  const site = chains.sites.primary;
  const { agent } = await createAgent(site);
  await fundDollars(site, { issuer: deployer, to: alice.address, dollars: 1n });
  const dollar = { address: site.stablecoin, abi: erc20Abi, account: alice } as const;
  const converter = { address: site.at("agentFeeConverter"), abi: agentFeeConverterAbi } as const;
  await approve(site, site.stablecoin, converter.address, 5n);
  const fee = { ...converter, account: alice, functionName: "notifyFee", args: [agent, site.stablecoin, 5n] } as const;
  await site.sent(await site.client.writeContract(fee));
  const inbox = site.at(`backingInbox${chains.sites.secondary2.eid}`);
  await site.sent(await site.client.writeContract({ ...dollar, functionName: "transfer", args: [inbox, 1n] }));
  start();
  await rounds();
  deepEqual(told("done"), []);
  await passTime(site, DAY_SECONDS + 60);
  await until(() => told("done").length > 0);
  await rounds();
  deepEqual(
    told("done").map(({ chore }) => chore),
    ["book"],
  );
  equal(await balanceOf(site, site.stablecoin, inbox), 0n);
  const pending = { ...converter, functionName: "pending", args: [agent, site.stablecoin] } as const;
  equal(await site.client.readContract(pending), 1n);
});

test("a message without cover is told of after an hour, and delivered when it has it", async () => {
  const { primary, secondary1 } = chains.sites;
  const credit = () =>
    primary.client.readContract({
      ...{ address: primary.at("inferenceSettlement"), abi: inferenceSettlementAbi },
      functionName: "creditNanoUsd",
      args: [settler.address],
    });
  const eid = secondary1.eid;
  const minter = { address: primary.at("tokenMinter"), abi: tokenMinterAbi } as const;
  const [line] = await primary.client.readContract({ ...minter, functionName: "lineOf", args: [eid] });
  await activateFromAfar(primary, { eid, amount: line + 1n });
  start();
  await rounds();
  equal(told("late").length, 0);
  await passTime(primary, 3_660);
  await until(() => told("late").some(({ what, chain }) => what === "waiting" && chain === "primary"));
  equal(await credit(), 0n);
  await fundDollars(primary, { issuer: deployer, to: alice.address, dollars: 1n });
  await approve(primary, primary.stablecoin, minter.address, 1n);
  const gift = { ...minter, account: alice, functionName: "fundFloat", args: [eid, 1n] } as const;
  await primary.sent(await primary.client.writeContract(gift));
  await until(async () => (await credit()) === (line + 1n) * 1_000n);
});

function start(settings: KeeperSettings = chains.settings(), now: () => number = Date.now): Keeper {
  const log: Log = (level, event, fields = {}) => void events.push({ level, event, ...fields });
  const started = startKeeper(settings, { now, log });
  running.add(started);
  return started;
}

async function stop(...keepers: Keeper[]): Promise<void> {
  for (const each of keepers) running.delete(each);
  await Promise.all(keepers.map((each) => each.stop()));
}

/** A keeper that has said that its budget does not suffice. */
async function exhausted(settings: KeeperSettings, now: () => number): Promise<Keeper> {
  events.length = 0;
  const started = start(settings, now);
  await until(() => told("budget exhausted").length > 0);
  equal(told("done").length, 0);
  return started;
}

function told(event: string) {
  return events.filter((each) => each.event === event);
}

/** Long enough for several rounds: what has not happened then would not happen. */
async function rounds(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 600));
}

/** What the keeper's last transaction took of its coins, a fee of the bridge included. */
async function spentOn({ client }: ChainSite): Promise<bigint> {
  const blockNumber = await client.getBlockNumber();
  for (let block = blockNumber; block > 0n; block -= 1n) {
    const { transactions } = await client.getBlock({ blockNumber: block, includeTransactions: true });
    const sent = transactions.find(({ from }) => from === keeper.address.toLowerCase());
    if (sent === undefined) continue;
    const { gasUsed, effectiveGasPrice } = await client.getTransactionReceipt({ hash: sent.hash });
    return gasUsed * effectiveGasPrice + sent.value;
  }
  throw new Error("the keeper has sent nothing");
}

/** What the keeper's file says that it has spent today. */
function countedIn({ databaseFile }: KeeperSettings, { chain: { chainId } }: ChainSite): bigint {
  const database = new DatabaseSync(databaseFile, { readOnly: true });
  const row = database.prepare("SELECT wei FROM spent WHERE chain_id = ?").get(chainId) as { wei: string } | undefined;
  database.close();
  return BigInt(row?.wei ?? 0);
}

async function mint(site: ChainSite, amount: bigint): Promise<void> {
  await payMinter(site, { functionName: "mint", args: [amount] }, amount);
}

async function mintAndActivate(site: ChainSite, amount: bigint): Promise<void> {
  await payMinter(site, { functionName: "mintAndActivate", args: [amount, alice.address] }, amount);
}

async function payMinter(
  site: ChainSite,
  call: { functionName: "mint"; args: [bigint] } | { functionName: "mintAndActivate"; args: [bigint, Address] },
  amount: bigint,
): Promise<void> {
  const minter = site.at("tokenMinter");
  await fundDollars(site, { issuer: deployer, to: alice.address, dollars: amount / DOLLAR });
  await approve(site, site.stablecoin, minter, amount * 10n ** BigInt(site.stablecoinDecimals - 6));
  const write = { address: minter, abi: tokenMinterAbi, account: alice } as const;
  await site.sent(
    call.functionName === "mint"
      ? await site.client.writeContract({ ...write, functionName: call.functionName, args: call.args })
      : await site.client.writeContract({ ...write, functionName: call.functionName, args: call.args }),
  );
}

async function approve(site: ChainSite, token: Address, spender: Address, amount: bigint): Promise<void> {
  const call = {
    address: token,
    abi: erc20Abi,
    account: alice,
    functionName: "approve",
    args: [spender, amount],
  } as const;
  await site.sent(await site.client.writeContract(call));
}

async function settle(site: ChainSite, { id, amountNanoUsd }: { id: bigint; amountNanoUsd: bigint }): Promise<void> {
  const { timestamp } = await site.client.getBlock();
  const debits = [{ account: alice.address, amountNanoUsd }];
  const batch = { id, day: timestamp / BigInt(DAY_SECONDS), root: zeroHash, debits, serves: [] };
  const settlement = { address: site.at("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const call = { ...settlement, account: settler, functionName: "settle", args: [batch] } as const;
  await site.sent(await site.client.writeContract(call));
}

async function createAgent(site: ChainSite): Promise<{ agent: Address; treasury: Address; safe: Address }> {
  const registry = { address: site.at("agentRegistry"), abi: agentRegistryAbi } as const;
  const args = ["Agent", "AGENT", 10n ** 24n, alice.address] as const;
  const hash = await site.client.writeContract({ ...registry, account: alice, functionName: "create", args });
  await site.sent(hash);
  const { logs } = await site.client.getTransactionReceipt({ hash });
  const [born] = parseEventLogs({ abi: agentRegistryAbi, eventName: "AgentCreated", logs });
  ok(born !== undefined);
  return { agent: born.args.agentToken, treasury: born.args.treasury, safe: born.args.safe };
}

function pending(site: ChainSite): Promise<bigint> {
  const outbox = { address: site.at("tokenBackingOutbox"), abi: tokenBackingOutboxAbi } as const;
  return site.client.readContract({ ...outbox, functionName: "pending" });
}

function balanceOf(site: ChainSite, token: Address, holder: Address): Promise<bigint> {
  return site.client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [holder] });
}

async function passTime({ client }: ChainSite, seconds: number): Promise<void> {
  await client.increaseTime({ seconds });
  await client.mine({ blocks: 1 });
}
