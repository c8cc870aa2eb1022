import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTokenAbi } from "@inference/protocol/abi/agent-token";
import { agentTreasuryAbi } from "@inference/protocol/abi/agent-treasury";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { decodeChunk } from "@inference/protocol/chunk";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Address, createPublicClient, erc20Abi, hexToBytes, http } from "viem";
import { AGENT, type Agent } from "./agents.ts";
import { ask as askDevnet } from "./ask.ts";
import { requestApiKey } from "./customer.ts";
import { WALLET_DOLLARS } from "./deployment.ts";
import { ACTIVATED_AMOUNT, type Devnet, startDevnet } from "./devnet.ts";
import { FAUCET } from "./faucet.ts";
import type { Secrets } from "./secrets.ts";
import { chat, readBlock } from "./testing/api.ts";
import { anyPorts, deployedFolder, temporaryFolder } from "./testing/launch.ts";
import { swap } from "./testing/market.ts";
import { testThreeChains } from "./testing/three-chains-suite.ts";
import { walletOn } from "./testing/wallet.ts";
import { wallets } from "./wallets.ts";

/** The commands of `npm run devnet`. */
const folder = deployedFolder();
const start = () =>
  startDevnet({
    environment: { ...process.env, ...anyPorts, DEVNET_DIR: folder.path, SIMULATOR_FAULTS: "1" },
    survivesKill: false,
  });
const DAY_SECONDS = 86_400;
let devnet: Devnet;
let agent: Agent;

before(async () => {
  devnet = await start();
});
after(async () => {
  await devnet?.stop();
  folder.remove();
});

test("every wallet has gas and dollars of the real dollar's code", async () => {
  const reader = primaryReader();
  const dollars = WALLET_DOLLARS * 1_000_000n;
  const balance = { address: at("primary", "stablecoin"), abi: erc20Abi, functionName: "balanceOf" } as const;
  for (const { address, activated } of devnet.ready.wallets) {
    ok((await reader.getBalance({ address })) > 10n ** 18n);
    const left = await reader.readContract({ ...balance, args: [address] });
    equal(left, activated ? dollars - ACTIVATED_AMOUNT : dollars);
  }
});

test("the faucet gives an address gas, dollars and staking tokens on every chain", async () => {
  const to = "0x00000000000000000000000000000000000000fa";
  const lines = await run("faucet", to);
  equal(lines.length, 3);
  for (const { name, rpcUrl, stablecoin } of devnet.ready.chains) {
    const { symbol, decimals } = stablecoin;
    ok(lines.includes(`${name}: 10 coins for gas, 10000 ${symbol}, 1000 staking tokens.`), lines.join());
    const reader = createPublicClient({ transport: http(rpcUrl) });
    const balance = (token: string) =>
      reader.readContract({ address: at(name, token), abi: erc20Abi, functionName: "balanceOf", args: [to] });
    equal(await reader.getBalance({ address: to }), FAUCET.coins * 10n ** 18n);
    equal(await balance("stablecoin"), FAUCET.dollars * 10n ** BigInt(decimals));
    equal(await balance("stakingToken"), FAUCET.stakingTokens * 10n ** 18n);
  }
  await rejects(run("faucet", "0x12"), /0x12 is not an address/);
});

test("the token is bought with the swap router beside its market", async () => {
  const terms = { amountIn: 1_000_000n, amountOutMinimum: 990_000n };
  await swap(devnet.ready, 4, { from: "stablecoin", to: "inferenceToken", ...terms });
  const bought = await walletOn(devnet.ready, "primary", 4).tokens();
  ok(bought >= 990_000n && bought < 1_000_000n, String(bought));
});

test("an agent has an owner, a computer of its own, payees, and stake that counts from the next day on", async () => {
  const lines = await run("agent");
  agent = (JSON.parse(readFileSync(join(folder.path, "agents.json"), "utf8")) as Agent[])[0] as Agent;
  for (const address of [agent.token, agent.owner.address, agent.computer.address, agent.safe, agent.treasury])
    ok(lines.some((line) => line.includes(address)));
  match(lines.at(-1) ?? "", /^It sells all of it from the next UTC day on/);
  const registry = { address: at("primary", "agentRegistry"), abi: agentRegistryAbi } as const;
  const args = [agent.token] as const;
  const reader = primaryReader();
  equal(await reader.readContract({ ...registry, functionName: "computerOf", args }), agent.computer.address);
  equal(await reader.readContract({ ...registry, functionName: "safeOf", args }), agent.safe);
  equal(await reader.readContract({ ...registry, functionName: "treasuryOf", args }), agent.treasury);
  const owner = { address: agent.token, abi: agentTokenAbi, functionName: "owner" } as const;
  equal(await reader.readContract(owner), agent.owner.address);
  equal(await capacityToday(agent.token), 0n);
  equal(await stakedUnits(), "0");
});

test("the chains and the gateway go to the next day together, and yesterday's charge becomes final", async () => {
  const { gatewayUrl, chains } = devnet.ready;
  const before = await times();
  const { id } = (await (await chat(devnet.ready, "sim-small")).json()) as { id: string };
  const yesterday = Math.floor(Math.max(...before) / DAY_SECONDS);

  const [line = ""] = await run("day");
  const midnight = (yesterday + 1) * DAY_SECONDS;
  ok(line.startsWith(`It is ${new Date(midnight * 1_000).toISOString()} on the three chains`), line);
  for (const time of await times()) ok(time >= midnight && time < midnight + 60, `${time} is not after ${midnight}`);
  for (const { rpcUrl } of chains) ok((await readBlock(rpcUrl, "finalized")).timestamp >= midnight, "final today");
  ok(Math.abs(devnet.ready.clockOffsetMs - (midnight * 1_000 - Date.now())) < 60_000);
  const { headers } = await fetch(`${devnet.ready.provider.url}/models`);
  equal(new Date(headers.get("x-venice-timestamp") ?? 0).getTime() >= midnight * 1_000, true, "and the provider");

  equal(await capacityToday(agent.token), AGENT.stakedUnits * 1_000_000_000n);
  equal(await stakedUnits(), String(AGENT.stakedUnits), "what the pool has staked is the provider's allowance");

  // The gateway's time: a message that is signed with the machine's is of another day.
  const key = { gatewayUrl, chainId: chains[0]?.chainId ?? 0, wallet: wallets[2] as never, name: "today" };
  await rejects(requestApiKey({ ...key, now: Date.now() }), /made no API key/);
  match(await requestApiKey({ ...key, now: devnetNow() }), /^ik_/);

  type Settlement = { status: string; record: { chunk: { day: string } } | null };
  const settlement = () => read<{ settlement: Settlement }>(`/api/v1/generation?id=${id}`);
  await eventually(async () => (await settlement()).settlement.status === "final");
  const { record } = (await settlement()).settlement;
  equal(record?.chunk.day, new Date(yesterday * DAY_SECONDS * 1_000).toISOString().slice(0, 10));
});

test("of a dollar that an agent served, 0.40 reach its Safe, 0.50 are staked for it and 0.10 come back", async () => {
  const { gatewayUrl, apiKey } = devnet.ready;
  type Offer = {
    offer: { day: number } | null;
    today: { date: string; limit_nano_usd: number; sold_nano_usd: number };
  };
  const offer = () => read<Offer>(`/api/v1/agents/${agent.token}/offer`);
  await eventually(async () => (await offer()).offer !== null);
  const { date } = (await offer()).today;
  const requester = walletOn(devnet.ready, "primary", 0);
  const before = { tokens: await requester.tokens(), staked: await stakedUnder(agent.token) };

  async function ask(path: string, body: object): Promise<Receipt> {
    const response = await fetch(`${gatewayUrl}/api/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(body),
    });
    equal(response.status, 200, await response.clone().text());
    await response.arrayBuffer();
    const id = response.headers.get("x-request-id");
    return await eventually(async () => (await read<Receipt | undefined>(`/api/v1/generation?id=${id}`)) ?? false);
  }
  const seller = agent.token.toLowerCase();
  // Its key at the provider is made after its offer was taken. An answer of some nano-dollars, then 0.23 + 0.26 + 0.51.
  const chat = { model: "sim-small", messages: [{ role: "user", content: "Hello" }], max_tokens: 8 };
  const first = await eventually(async () => {
    const receipt = await ask("chat/completions", chat);
    return receipt.served_by === seller && receipt;
  });
  const charges = [first.charge_nano_usd];
  for (const body of [
    { model: "sim-image-sizes", prompt: "A boat", resolution: "2K" },
    { model: "sim-image-quality", prompt: "A boat" },
    { model: "sim-image-quality", prompt: "A boat", resolution: "2K" },
  ]) {
    const receipt = await ask("image/generate", body);
    equal(receipt.served_by, seller, JSON.stringify(receipt));
    charges.push(receipt.charge_nano_usd);
  }
  const served = charges.reduce((sum, charge) => sum + charge, 0);
  deepEqual(charges.slice(1), [230_000_000, 260_000_000, 510_000_000]);
  equal((await offer()).today.sold_nano_usd, served);
  deepEqual(await takenFromAllowance(date), [BigInt(served) * 1_000_000_000n], "through the agent's own key");

  const shares = await eventuallySettled(agent.token, BigInt(served));
  const reader = primaryReader();
  const balance = (token: string, holder: Address) =>
    reader.readContract({ address: at("primary", token), abi: erc20Abi, functionName: "balanceOf", args: [holder] });
  const settlement = { address: at("primary", "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const owedTo = { ...settlement, functionName: "owedAgentNanoUsd", args: [agent.token] } as const;
  // Paid in whole units of a thousand nano-dollars; the rest stays owed.
  await eventually(async () => (await balance("stablecoin", agent.safe)) === shares.safe / 1_000n);
  // Its statements may be final one after the other, and the treasury then buys more than once.
  const bought = async (): Promise<{ spent: bigint; entered: bigint }> => {
    const events = await reader.getContractEvents({ address: agent.treasury, abi: agentTreasuryAbi, fromBlock: 0n });
    const sums = { spent: 0n, entered: 0n };
    for (const { args } of events) {
      const { spent = 0n, entered = 0n } = args as { spent?: bigint; entered?: bigint };
      sums.spent += spent;
      sums.entered += entered;
    }
    return sums;
  };
  await eventually(async () => (await bought()).spent === shares.treasury / 1_000n);
  deepEqual(await reader.readContract(owedTo), [shares.safe % 1_000n, shares.treasury % 1_000n]);
  const { entered } = await bought();
  equal(await balance("stablecoin", agent.treasury), 0n);
  equal((await stakedUnder(agent.token)) - before.staked, entered, "and it is locked under the agent");
  const owedBack = { ...settlement, functionName: "owedBackNanoUsd", args: [requester.account] } as const;
  await eventually(async () => (await requester.tokens()) - before.tokens === shares.back / 1_000n);
  equal(await reader.readContract(owedBack), shares.back % 1_000n);
  // The shares of the dollar; the rest belongs to the first answer.
  const odd = BigInt(served) - 1_000_000_000n;
  const ofTheDollar = { safe: 400_000_000n, treasury: 500_000_000n, back: 100_000_000n };
  for (const name of ["safe", "treasury", "back"] as const) {
    ok(shares[name] >= ofTheDollar[name] && shares[name] - ofTheDollar[name] < odd, `${name}: ${shares[name]}`);
  }
});

test("a command without the token of ready.json is refused", async () => {
  equal((await fetch(devnet.ready.control.url, { method: "POST" })).status, 401);
});

testThreeChains(() => devnet);

test("the program says what it takes", async () => {
  const program = fileURLToPath(new URL("command.ts", import.meta.url));
  const empty = temporaryFolder();
  const env = { ...process.env, DEVNET_DIR: empty.path };
  const attempt = (...args: string[]) =>
    promisify(execFile)(process.execPath, [program, ...args], { env }).then(
      ({ stdout }) => stdout,
      ({ stderr }: { stderr: string }) => stderr,
    );
  match(await attempt("day"), /^No devnet is running in .*\n$/);
  match(await attempt("night"), /^npm run devnet -- takes one of day, faucet.*, not night\.\n$/);
  match(await attempt("faucet"), /^npm run devnet -- takes faucet <address>, not faucet\.\n$/);
  match(await attempt("--help"), /^npm run devnet -- day /);
  empty.remove();
});

async function run(command: string, ...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  await askDevnet(folder.path, { command, args, say: (line) => lines.push(line) });
  return lines;
}

function primaryReader() {
  return createPublicClient({ transport: http(devnet.ready.chains[0]?.rpcUrl), cacheTime: 0 });
}

function capacityToday(identity: Address): Promise<bigint> {
  const pool = { address: at("primary", "inferencePool"), abi: inferencePoolAbi } as const;
  return primaryReader().readContract({ ...pool, functionName: "capacityToday", args: [identity] });
}

function stakedUnder(identity: Address): Promise<bigint> {
  const pool = { address: at("primary", "inferencePool"), abi: inferencePoolAbi } as const;
  return primaryReader().readContract({ ...pool, functionName: "totalStakeOf", args: [identity] });
}

/** The shares of all that the agent served, once all of it is final, each rounded down. */
async function eventuallySettled(served: Address, amountNanoUsd: bigint) {
  const settlement = { address: at("primary", "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const settledNanoUsd = async (): Promise<bigint> => {
    const logs = await primaryReader().getContractEvents({ ...settlement, eventName: "Settled", fromBlock: 0n });
    const parts = logs
      .flatMap(({ args }) => decodeChunk(hexToBytes(args.data ?? "0x")))
      .flatMap((record) => record.parts)
      .filter(({ agent }) => agent.toLowerCase() === served.toLowerCase());
    return parts.reduce((sum, part) => sum + BigInt(part.amountNanoUsd), 0n);
  };
  await eventually(async () => (await settledNanoUsd()) === amountNanoUsd);
  return {
    safe: (amountNanoUsd * 40n) / 100n,
    treasury: (amountNanoUsd * 50n) / 100n,
    back: (amountNanoUsd * 10n) / 100n,
  };
}

/** The spend of each key that the gateway made from the day's allowance, in 1e-18 USD. */
async function takenFromAllowance(date: string): Promise<bigint[]> {
  const { providerAdminKey } = JSON.parse(readFileSync(join(folder.path, "secrets.json"), "utf8")) as Secrets;
  const answer = await fetch(`${devnet.ready.provider.url}/billing/allowance?day=${date}`, {
    headers: { authorization: `Bearer ${providerAdminKey}` },
  });
  type Row = { description: string; allowanceAttoUsd: string; balanceAttoUsd: string };
  const { data } = (await answer.json()) as { data: Row[] };
  const own = data.filter(({ description }) => description.startsWith("gateway "));
  for (const { balanceAttoUsd } of own) equal(balanceAttoUsd, "0");
  return own.map(({ allowanceAttoUsd }) => BigInt(allowanceAttoUsd));
}

type Receipt = { served_by: string | null; charge_nano_usd: number };

async function stakedUnits(): Promise<string> {
  const answer = await fetch(new URL("/__simulator/config", devnet.ready.provider.url));
  return ((await answer.json()) as { stakedUnits: string }).stakedUnits;
}

function at(chain: string, name: string): Address {
  const address = devnet.ready.contracts[chain]?.[name];
  ok(address !== undefined, name);
  return address;
}

function times(): Promise<number[]> {
  return Promise.all(devnet.ready.chains.map(async ({ rpcUrl }) => (await readBlock(rpcUrl, "latest")).timestamp));
}

function devnetNow(): number {
  return Date.now() + devnet.ready.clockOffsetMs;
}

async function read<T>(path: string): Promise<T> {
  const { gatewayUrl, apiKey } = devnet.ready;
  const response = await fetch(`${gatewayUrl}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  return ((await response.json()) as { data: T }).data;
}
