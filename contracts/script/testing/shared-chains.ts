import { after } from "node:test";
import {
  LOCAL_CHAIN_NAMES,
  type LocalChainName,
  type LocalWorld,
  prepareLocalChains,
} from "@inference/devnet/third-parties/local-chains";
import { createTestClient, http } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { type Anvil, startAnvil } from "../anvil.ts";

/** Three local chains with the third-party contracts and without ours. */
export type SharedChains = {
  readonly rpcUrls: Readonly<Record<LocalChainName, string>>;
  readonly world: LocalWorld;
  /** Restores the chains as they were when they were shared. */
  revert(): Promise<void>;
};

export const account = (addressIndex: number) =>
  mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
export const deployer = account(9);
export const safeOwner = account(7);

let anvils: Promise<Anvil[]> | undefined;
let started: Promise<Omit<SharedChains, "revert">> | undefined;

/** One set of chains for all test files of this process. */
export async function shareChains(): Promise<SharedChains> {
  started ??= start();
  const { rpcUrls, world } = await started;
  const clients = Object.values(rpcUrls).map((url) => createTestClient({ mode: "anvil", transport: http(url) }));
  const ids = await Promise.all(clients.map((client) => client.snapshot()));
  const revert = async (): Promise<void> => {
    await Promise.all(clients.map((client, index) => client.revert({ id: ids[index] ?? "0x" })));
  };
  return { rpcUrls, world, revert };
}

after(async () => Promise.all(((await anvils) ?? []).map((anvil) => anvil[Symbol.asyncDispose]())));

async function start(): Promise<Omit<SharedChains, "revert">> {
  anvils = Promise.all([31337, 31338, 31339].map((chainId) => startAnvil(chainId)));
  const nodes = await anvils;
  const chains = byName(nodes.map(({ rpcUrl }, index) => ({ rpcUrl, chainId: 31337 + index })));
  const roles = {
    deployer,
    proxyAdmin: account(5).address,
    safeOwner: safeOwner.address,
    guardian: account(6).address,
    settler: account(8).address,
    verifierKeys: [account(3).address, account(4).address],
  } as const;
  const world = await prepareLocalChains({ chains, roles, confirmations: 2 });
  return { rpcUrls: byName(nodes.map(({ rpcUrl }) => rpcUrl)), world };
}

function byName<T>(values: readonly T[]): Record<LocalChainName, T> {
  return Object.fromEntries(LOCAL_CHAIN_NAMES.map((name, index) => [name, values[index]])) as Record<LocalChainName, T>;
}
