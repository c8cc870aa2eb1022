import { after } from "node:test";
import { type Anvil, startAnvil } from "@inference/contracts/anvil";
import {
  LOCAL_CHAIN_NAMES,
  type LocalChainName,
  type LocalWorld,
  prepareLocalChains,
} from "../third-parties/local-chains.ts";
import { account, clientOf, remember } from "./local-chain.ts";

/** Three local chains with the third-party contracts and without ours. */
export type SharedChains = {
  readonly rpcUrls: Readonly<Record<LocalChainName, string>>;
  readonly world: LocalWorld;
  /** Restores the chains as they were when they were shared. */
  revert(): Promise<void>;
};

export const [safeOwner, settler, deployer] = [account(7), account(8), account(9)] as const;

let anvils: Promise<Anvil[]> | undefined;
let started: Promise<LocalWorld> | undefined;

/** One set of chains for all test files of this process. */
export async function shareChains(): Promise<SharedChains> {
  started ??= start();
  const world = await started;
  const revert = await remember(LOCAL_CHAIN_NAMES.map((name) => clientOf(world.sites[name].chain)));
  return { rpcUrls: byName((name) => world.sites[name].chain.rpcUrl), world, revert };
}

after(async () => Promise.all(((await anvils) ?? []).map((anvil) => anvil[Symbol.asyncDispose]())));

async function start(): Promise<LocalWorld> {
  anvils = Promise.all([31337, 31338, 31339].map((chainId) => startAnvil(chainId)));
  const nodes = await anvils;
  const roles = {
    deployer,
    proxyAdmin: account(5).address,
    safeOwner: safeOwner.address,
    guardian: account(6).address,
    settler: settler.address,
    verifierKeys: [account(3).address, account(4).address],
  } as const;
  const chains = byName((_, index) => ({ chainId: 31337 + index, rpcUrl: nodes[index]?.rpcUrl ?? "" }));
  return await prepareLocalChains({ chains, roles, confirmations: 1 });
}

export function byName<T>(make: (name: LocalChainName, index: number) => T): Record<LocalChainName, T> {
  const entries = LOCAL_CHAIN_NAMES.map((name, index) => [name, make(name, index)]);
  return Object.fromEntries(entries) as Record<LocalChainName, T>;
}
