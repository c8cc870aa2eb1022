import { ok } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { type ChainDeployment, deploy } from "@inference/contracts/deploy";
import {
  account,
  clientOf,
  deliverAsEndpoint,
  type LocalClient,
  remember,
  succeeded,
} from "@inference/devnet/testing/local-chain";
import { byName, deployer, settler, shareChains } from "@inference/devnet/testing/shared-chains";
import {
  fundDollars,
  LOCAL_CHAIN_NAMES,
  type LocalChainName,
  type LocalSite,
} from "@inference/devnet/third-parties/local-chains";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Account, type Address, encodePacked, erc20Abi, type Hex, keccak256, parseEventLogs, toHex } from "viem";
import type { KeeperSettings } from "../settings.ts";

/** Three local chains with everything deployed, without a relayer. */
export type ThreeChains = {
  sites: Readonly<Record<LocalChainName, ChainSite>>;
  settings(changes?: Partial<KeeperSettings>): KeeperSettings;
  /** Restores the chains as they were when they were shared. */
  revert(): Promise<void>;
};
export type ChainSite = LocalSite & {
  client: LocalClient;
  contracts: Readonly<Record<string, Address>>;
  at(contract: string): Address;
  /** Throws if it reverts. */
  sent(hash: Hex): Promise<void>;
};
/** A message of a bridge: ITokenBridge.Kind, who sent it, its account and its token units. */
export type Message = { kind: number; from: Address; to: Address; amount: bigint };

export { deployer, settler };
export const [alice, keeper] = [account(0), account(1)] as const;
export const DOLLAR = 1_000_000n;
const ACTIVATION = 1;

let started: ReturnType<typeof start> | undefined;
const folder = mkdtempSync(join(tmpdir(), "keeper-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** One set of chains for all test files of this process. */
export async function shareThreeChains(): Promise<ThreeChains> {
  started ??= start();
  const chains = await started;
  return { ...chains, revert: await remember(Object.values(chains.sites).map(({ client }) => client)) };
}

async function start(): Promise<Omit<ThreeChains, "revert">> {
  const { world, rpcUrls } = await shareChains();
  const deployed = await deploy(world.config, { rpcUrls, deployer });
  const sites = byName((name, index): ChainSite => {
    const client = clientOf(world.sites[name].chain);
    const contracts = deployed[index]?.addresses ?? {};
    const sent = (hash: Hex): Promise<void> => succeeded(client, hash);
    return { ...world.sites[name], client, contracts, at: (contract) => contracts[contract] ?? "0x", sent };
  });
  return { sites, settings: (changes) => ({ ...settingsOf(sites, deployed), ...changes }) };
}

function settingsOf(sites: ThreeChains["sites"], deployed: readonly ChainDeployment[]): KeeperSettings {
  return {
    databaseFile: join(folder, `${crypto.randomUUID()}.sqlite`),
    pollMs: 20,
    dailyBudgetWei: 10n ** 18n,
    minPayment: 1_000_000n,
    key: toHex(keeper.getHdKey().privateKey ?? new Uint8Array()),
    chains: LOCAL_CHAIN_NAMES.map((name, index) => {
      const { chain, eid, contracts } = sites[name];
      const startBlock = Number(deployed[index]?.block ?? 0);
      return { name, ...chain, eid, startBlock, confirmations: 64, contracts };
    }),
  };
}

/** Hands a chain's bridge a message of the bridge on chain `srcEid`. */
export async function deliver(site: ChainSite, srcEid: number, message: Message, guid?: Hex): Promise<void> {
  const { kind, from, to, amount } = message;
  const packed = encodePacked(["uint8", "address", "address", "uint96"], [kind, from, to, amount]);
  const ends = { endpoint: site.layerZero.endpoint, bridge: site.at("tokenBridge") };
  await deliverAsEndpoint(site.client, { ...ends, srcEid, guid: guid ?? keccak256(packed), message: packed });
}

/** Delivers an activation of the settler's own tokens. */
export async function activateFromAfar(
  site: ChainSite,
  { eid, amount }: { eid: number; amount: bigint },
): Promise<void> {
  await deliver(site, eid, { kind: ACTIVATION, from: settler.address, to: settler.address, amount });
}

/** Lets messages of a chain through before its dollars arrive. */
export async function fundLine(site: ChainSite, eid: number, amount: bigint): Promise<void> {
  const minter = { address: site.at("tokenMinter"), abi: tokenMinterAbi } as const;
  await fundDollars(site, { issuer: deployer, to: alice.address, dollars: amount / DOLLAR + 1n });
  await approve(site, { token: site.stablecoin, spender: minter.address, amount });
  const gift = { ...minter, account: alice, functionName: "fundFloat", args: [eid, amount] } as const;
  await site.sent(await site.client.writeContract(gift));
}

export async function createAgent(site: ChainSite): Promise<{ agent: Address; treasury: Address; safe: Address }> {
  const registry = { address: site.at("agentRegistry"), abi: agentRegistryAbi } as const;
  const args = ["Agent", "AGENT", 10n ** 24n, alice.address] as const;
  const hash = await site.client.writeContract({ ...registry, account: alice, functionName: "create", args });
  await site.sent(hash);
  const { logs } = await site.client.getTransactionReceipt({ hash });
  const [born] = parseEventLogs({ abi: agentRegistryAbi, eventName: "AgentCreated", logs });
  ok(born !== undefined);
  return { agent: born.args.agentToken, treasury: born.args.treasury, safe: born.args.safe };
}

export async function approve(
  { client, sent }: ChainSite,
  { token, spender, amount }: { token: Address; spender: Address; amount: bigint },
  owner: Account = alice,
): Promise<void> {
  const approval = { functionName: "approve", args: [spender, amount] } as const;
  await sent(await client.writeContract({ address: token, abi: erc20Abi, account: owner, ...approval }));
}

/** Moves dollars away, in the next block and before the keeper's transaction. */
export async function moveAway({ client, stablecoin }: ChainSite, owner: Account, dollars: bigint): Promise<void> {
  await client.setBalance({ address: owner.address, value: 10n ** 18n });
  await client.writeContract({
    ...{ address: stablecoin, abi: erc20Abi, functionName: "transfer", args: [alice.address, dollars * DOLLAR] },
    ...{ account: owner, gas: 200_000n, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n },
  });
}

export function balanceOf({ client }: ChainSite, token: Address, holder: Address): Promise<bigint> {
  return client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [holder] });
}

/** In the units of the stablecoin. */
export function dollarsOf(site: ChainSite, holder: Address): Promise<bigint> {
  return balanceOf(site, site.stablecoin, holder);
}

/** In nano-dollars. */
export function creditOf(site: ChainSite, account: Address): Promise<bigint> {
  const settlement = { address: site.at("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  return site.client.readContract({ ...settlement, functionName: "creditNanoUsd", args: [account] });
}
