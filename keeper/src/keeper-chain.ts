import type { Account, Address } from "viem";
import { type Connection, connect } from "./connection.ts";
import type { KeeperChainSettings } from "./settings.ts";

export type KeeperChain = Connection & { settings: KeeperChainSettings };

export function connectKeeperChain(settings: KeeperChainSettings, account: Account): KeeperChain {
  const { chainId, rpcUrl } = settings;
  return { settings, ...connect({ chainId, rpcUrl, account }) };
}

export function hasContract({ settings }: KeeperChain, name: string): boolean {
  return settings.contracts[name] !== undefined;
}

/** The address of a contract. Throws if the chain is said not to have it. */
export function contractOn({ settings }: KeeperChain, name: string): Address {
  const address = settings.contracts[name];
  if (address === undefined) throw new TypeError(`${settings.name} has no ${name}`);
  return address;
}

/** The chain's own time, in seconds. */
export async function timeOn({ reader }: KeeperChain): Promise<bigint> {
  return (await reader.getBlock()).timestamp;
}

export async function timeOfBlock({ reader }: KeeperChain, blockNumber: bigint): Promise<bigint> {
  return (await reader.getBlock({ blockNumber })).timestamp;
}
