import { deepEqual, equal, ok } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, test } from "node:test";
import { startLiar } from "@inference/chain/testing/liar";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { fundDollars } from "@inference/devnet/third-parties/local-chains";
import { fundLocalToken } from "@inference/devnet/third-parties/local-token";
import { agentFeeConverterAbi } from "@inference/protocol/abi/agent-fee-converter";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { encodeChunk, type ServedPart } from "@inference/protocol/chunk";
import { stablecoinUnits } from "@inference/protocol/money";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Address, bytesToHex, erc20Abi, pad, toFunctionSelector, zeroHash } from "viem";
import { startKeeper } from "./keeper.ts";
import type { Log } from "./log.ts";
import type { Service } from "./process.ts";
import type { KeeperSettings } from "./settings.ts";
import {
  activateFromAfar,
  alice,
  approve,
  balanceOf,
  type ChainSite,
  createAgent,
  creditOf,
  DOLLAR,
  deployer,
  fundLine,
  keeper,
  settler,
  shareThreeChains,
  type ThreeChains,
} from "./testing/three-chains.ts";

const DAY_SECONDS = 86_400;
/** The root of a statement. No test asks for its uses. */
const ROOT = pad("0x1");
let chains: ThreeChains;
const running = new Set<Service>();
const events: { level: string; event: string; [field: string]: unknown }[] = [];

before(async () => {
  chains = await shareThreeChains();
});
afterEach(async () => {
  await stop(...running);
  events.length = 0;
});
after(() => chains.revert());

test("dollars below a batch stay, in silence and for nothing; a batch leaves", async () => {
  const site = chains.sites.secondary1;
  await mint(site, 5n * DOLLAR);
  start();
  await rounds();
  deepEqual([await pending(site), events], [5n * DOLLAR, []]);
  equal(await site.client.getTransactionCount({ address: keeper.address }), 0);
  await mint(site, 5n * DOLLAR);
  await eventually(() => told("done").length === 1);
  equal(await pending(site), 0n);
});

test("dollars that left a day ago and have not arrived are told of; when they arrive they are booked", async () => {
  const { primary, secondary1 } = chains.sites;
  start();
  await rounds();
  equal(told("late").length, 0);
  await passTime(secondary1, DAY_SECONDS + 60);
  await eventually(() => told("late").some(({ what, chain }) => what === "in flight" && chain === "secondary1"));
  const minter = { address: primary.at("tokenMinter"), abi: tokenMinterAbi } as const;
  const args = [secondary1.eid] as const;
  const inbox = await primary.client.readContract({ ...minter, functionName: "inboxOf", args });
  await fundDollars(primary, { issuer: deployer, to: inbox, dollars: 10n });
  await eventually(
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
  await eventually(() => told("failed").length > 0);
  deepEqual([told("failed")[0]?.task, told("failed")[0]?.level], ["flush", "alert"]);
  await rounds();
  equal(told("failed").length, 1, "once, however often it is tried");
  equal(told("late").length, 0);
  await passTime(site, 2 * 3_600 + 60);
  await eventually(() => told("late").some(({ what, chain }) => what === "flush" && chain === "secondary2"));
  equal(await pending(site), 20n * DOLLAR);
  await site.sent(await setPeer(pad(chains.sites.primary.dollarPool)));
  await eventually(async () => (await pending(site)) === 0n);
});

test("a call above the rest of the day's budget waits for the next day, also after a restart", async () => {
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
  await eventually(async () => (await pending(site)) === 0n);
  await stop(...running);
  // The spent amount is remembered: as much again does not fit.
  await passTime(site, 3_700);
  await mint(site, 10n * DOLLAR);
  const spent = await spentOn(site);
  await stop(await exhausted({ ...settings, dailyBudgetWei: spent + spent / 2n }, clock));
  equal(await pending(site), 10n * DOLLAR);
});

test("a transaction's maximum cost counts before it is sent, and its real cost once it is in a block", async () => {
  const site = chains.sites.secondary2;
  await passTime(site, 3_700);
  await mint(site, 10n * DOLLAR);
  const settings = chains.settings();
  await site.client.setAutomine(false);
  start(settings);
  const count = (blockTag: "latest" | "pending") =>
    site.client.getTransactionCount({ address: keeper.address, blockTag });
  await eventually(async () => (await count("pending")) > (await count("latest")));
  const most = countedIn(settings, site);
  ok(most > 0n);
  await site.client.setAutomine(true);
  await site.client.mine({ blocks: 1 });
  await eventually(() => told("done").some(({ task, chain }) => task === "flush" && chain === "secondary2"));
  ok(countedIn(settings, site) < most);
  equal(countedIn(settings, site), await spentOn(site));
});

test("the settlement's debt to the provider is paid, unless it is below the least payment", async () => {
  const site = chains.sites.primary;
  await mintAndActivate(site, 10n * DOLLAR);
  await settle(site, { amountNanoUsd: 999_999_999n });
  start();
  await rounds();
  const balance = () => balanceOf(site, site.stablecoin, site.protocolSafe);
  const before = await balance();
  equal(told("done").filter(({ task }) => task === "payProvider").length, 0);
  await settle(site, { amountNanoUsd: 2_000_000_001n });
  await eventually(async () => (await balance()) === before + 3n * DOLLAR);
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
  await approve(site, { token: site.stakingToken, spender: converter.address, amount: units });
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
  // A fifth of a unit at about 300 dollars, all of it to the Safe of an agent without backers.
  await eventually(async () => (await balanceOf(site, site.at("inferenceToken"), safe)) > 55n * DOLLAR);
  const pool = { address: site.at("inferencePool"), abi: inferencePoolAbi } as const;
  const staked = () => site.client.readContract({ ...pool, functionName: "totalStakeOf", args: [agent] });
  await eventually(async () => (await staked()) > units / 11n);
  equal(await balanceOf(site, site.stablecoin, treasury), 0n);
});

test("what an agent serves is paid to its Safe and its treasury, which spends it, and back to the account", async () => {
  const site = chains.sites.primary;
  const { agent, safe, treasury } = await createAgent(site);
  await serveBy(site, [agent], { amountNanoUsd: 12_345_678_901n, units: 20n });
  start();
  for (const task of ["paySafe", "payTreasury", "payBack", "buy"]) {
    await eventually(() => told("done").some((each) => each.task === task));
  }
  // 40 % of it. The treasury has spent its 50 %.
  equal(await balanceOf(site, site.stablecoin, safe), 4_938_271n);
  equal(await balanceOf(site, site.stablecoin, treasury), 0n);
});

test("dust costs the keeper nothing: fees of a unit stay, and a unit in an inbox is booked a day later", async () => {
  const site = chains.sites.primary;
  const { agent } = await createAgent(site);
  await fundDollars(site, { issuer: deployer, to: alice.address, dollars: 1n });
  const dollar = { address: site.stablecoin, abi: erc20Abi, account: alice } as const;
  const converter = { address: site.at("agentFeeConverter"), abi: agentFeeConverterAbi } as const;
  await approve(site, { token: site.stablecoin, spender: converter.address, amount: 5n });
  const fee = { ...converter, account: alice, functionName: "notifyFee", args: [agent, site.stablecoin, 5n] } as const;
  await site.sent(await site.client.writeContract(fee));
  const inbox = site.at(`backingInbox${chains.sites.secondary2.eid}`);
  await site.sent(await site.client.writeContract({ ...dollar, functionName: "transfer", args: [inbox, 1n] }));
  start();
  await rounds();
  deepEqual(told("done"), []);
  await passTime(site, DAY_SECONDS + 60);
  await eventually(() => told("done").length > 0);
  await rounds();
  deepEqual(
    told("done").map(({ task }) => task),
    ["book"],
  );
  equal(await balanceOf(site, site.stablecoin, inbox), 0n);
  const pending = { ...converter, functionName: "pending", args: [agent, site.stablecoin] } as const;
  equal(await site.client.readContract(pending), 1n);
});

test("a message without cover is told of after an hour, and delivered when it has it", async () => {
  const { primary, secondary1 } = chains.sites;
  const eid = secondary1.eid;
  const minter = { address: primary.at("tokenMinter"), abi: tokenMinterAbi } as const;
  const [line] = await primary.client.readContract({ ...minter, functionName: "lineOf", args: [eid] });
  await activateFromAfar(primary, { eid, amount: line + 1n });
  start();
  await rounds();
  equal(told("late").length, 0);
  await passTime(primary, 3_660);
  await eventually(() => told("late").some(({ what, chain }) => what === "waiting" && chain === "primary"));
  equal(await creditOf(primary, settler.address), 0n);
  await fundLine(primary, eid, 1n);
  await eventually(async () => (await creditOf(primary, settler.address)) === (line + 1n) * 1_000n);
});

test("a call that fails alerts, and the other calls of the same kind are made", async () => {
  const { primary, secondary1, secondary2 } = chains.sites;
  await using node = await startLiar(primary.chain.rpcUrl);
  const before = await creditOf(primary, settler.address);
  const minter = { address: primary.at("tokenMinter"), abi: tokenMinterAbi } as const;
  const amounts: bigint[] = [];
  // Activations from one chain are delivered in order, so those of two chains are independent.
  for (const [{ eid }, missing] of [[secondary1, 2n] as const, [secondary2, 3n] as const]) {
    const [line] = await primary.client.readContract({ ...minter, functionName: "lineOf", args: [eid] });
    await activateFromAfar(primary, { eid, amount: line + missing });
    await fundLine(primary, eid, missing);
    amounts.push(line + missing);
  }
  const [failing, other] = amounts as [bigint, bigint];
  // The node fails to estimate the first message's delivery, whose amount is a word of the call's data.
  const first = failing.toString(16).padStart(64, "0");
  node.lie = ({ method, params }) =>
    /^eth_(estimateGas|fillTransaction)$/.test(method) && JSON.stringify(params).includes(first)
      ? { error: { code: -32_000, message: "out of order" } }
      : undefined;
  start(throughNode(node.url));
  await eventually(async () => (await creditOf(primary, settler.address)) === before + other * 1_000n);
  deepEqual([told("failed")[0]?.task, told("failed")[0]?.chain], ["deliver", "primary"]);
  node.lie = undefined;
  await eventually(async () => (await creditOf(primary, settler.address)) === before + (failing + other) * 1_000n);
});

test("the debts to many agents, and the balances of their treasuries, are read in few requests", async () => {
  const site = chains.sites.primary;
  await using node = await startLiar(site.chain.rpcUrl);
  const agents = [];
  for (let count = 0; count < 5; count += 1) agents.push(await createAgent(site));
  await serveBy(
    site,
    agents.map(({ agent }) => agent),
  );
  const names = agents.flatMap(({ agent, treasury }) => [agent, treasury].map((each) => each.slice(2).toLowerCase()));
  const counted = { rounds: 0, reads: 0 };
  const owedProvider = toFunctionSelector("owedProviderNanoUsd()");
  node.lie = ({ method, params }) => {
    const call = JSON.stringify(params);
    if (method === "eth_call" && call.includes(owedProvider)) counted.rounds += 1;
    if (method === "eth_call" && names.some((name) => call.includes(name))) counted.reads += 1;
    return undefined;
  };
  start(throughNode(node.url));
  await eventually(() => counted.rounds > 5);
  ok(counted.reads > 0);
  ok(counted.reads <= 2 * counted.rounds, `${counted.reads} reads in ${counted.rounds} rounds`);
});

/** The settings of a keeper that reads the primary chain through this node. */
function throughNode(rpcUrl: string): KeeperSettings {
  const settings = chains.settings();
  return { ...settings, chains: settings.chains.map((chain, index) => (index === 0 ? { ...chain, rpcUrl } : chain)) };
}

function start(settings: KeeperSettings = chains.settings(), now: () => number = Date.now): Service {
  const log: Log = (level, event, fields = {}) => void events.push({ level, event, ...fields });
  const started = startKeeper(settings, { now, log });
  running.add(started);
  return started;
}

async function stop(...keepers: Service[]): Promise<void> {
  for (const each of keepers) running.delete(each);
  await Promise.all(keepers.map((each) => each.stop()));
}

/** A keeper that has said that its budget does not suffice. */
async function exhausted(settings: KeeperSettings, now: () => number): Promise<Service> {
  events.length = 0;
  const started = start(settings, now);
  await eventually(() => told("budget exhausted").length > 0);
  equal(told("done").length, 0);
  return started;
}

function told(event: string) {
  return events.filter((each) => each.event === event);
}

/** Long enough for several rounds of the keeper. */
async function rounds(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 600));
}

/** The coins that the keeper's last transaction took, a fee of the bridge included. */
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

/** The amount spent today by the keeper's database. */
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
  await approve(site, {
    token: site.stablecoin,
    spender: minter,
    amount: amount * stablecoinUnits(site.stablecoinDecimals),
  });
  const write = { address: minter, abi: tokenMinterAbi, account: alice } as const;
  await site.sent(
    call.functionName === "mint"
      ? await site.client.writeContract({ ...write, functionName: call.functionName, args: call.args })
      : await site.client.writeContract({ ...write, functionName: call.functionName, args: call.args }),
  );
}

/** Debits an account from its total; `served` are the parts of agents, and their sum is debited. */
async function settle(site: ChainSite, debit: { amountNanoUsd: bigint; parts?: ServedPart[] }): Promise<void> {
  const settlement = { address: site.at("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const account = alice.address;
  const totals = { ...settlement, functionName: "accountOf", args: [account] } as const;
  const [, debitedNanoUsd] = await site.client.readContract(totals);
  const data = encodeChunk([
    {
      ...{ account, root: ROOT, parts: debit.parts ?? [] },
      beforeNanoUsd: Number(debitedNanoUsd),
      amountNanoUsd: Number(debit.amountNanoUsd),
    },
  ]);
  const args = [await dayOf(site), bytesToHex(data)] as const;
  await site.sent(await site.client.writeContract({ ...settlement, account: settler, functionName: "settle", args }));
}

async function dayOf(site: ChainSite): Promise<number> {
  return Math.floor(Number((await site.client.getBlock()).timestamp) / DAY_SECONDS);
}

/** The credit of an account that an agent serves, in nano-USD. */
const SERVED_CREDIT = 20_000_000_000n;

/** Has each of these agents serve, of units that are staked under it. */
async function serveBy(
  site: ChainSite,
  agents: readonly Address[],
  served = { amountNanoUsd: 1_000n, units: 1n },
): Promise<void> {
  const units = served.units * 10n ** 18n;
  const { amountNanoUsd } = served;
  const pool = { address: site.at("inferencePool"), abi: inferencePoolAbi } as const;
  const { rpcUrl } = site.chain;
  const amount = units * BigInt(agents.length);
  await fundLocalToken({ rpcUrl, token: site.stakingToken, issuer: deployer, to: alice.address, amount });
  await approve(site, { token: site.stakingToken, spender: pool.address, amount });
  for (const agent of agents) {
    const gift = { ...pool, account: alice, functionName: "enterFor", args: [agent, units] } as const;
    await site.sent(await site.client.writeContract(gift));
  }
  await passTime(site, DAY_SECONDS);
  await mintAndActivate(site, SERVED_CREDIT / 1_000n);
  const day = await dayOf(site);
  const parts = agents.map((agent) => ({ agent, day, amountNanoUsd: Number(amountNanoUsd) }));
  await settle(site, { amountNanoUsd: amountNanoUsd * BigInt(agents.length), parts });
}

function pending(site: ChainSite): Promise<bigint> {
  const outbox = { address: site.at("tokenBackingOutbox"), abi: tokenBackingOutboxAbi } as const;
  return site.client.readContract({ ...outbox, functionName: "pending" });
}

async function passTime({ client }: ChainSite, seconds: number): Promise<void> {
  await client.increaseTime({ seconds });
  await client.mine({ blocks: 1 });
}
