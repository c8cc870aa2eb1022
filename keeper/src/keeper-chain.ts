import type { DatabaseSync } from "node:sqlite";
import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import { ownValue } from "@inference/protocol/own-value";
import type { Timers } from "@inference/protocol/timers";
import type { Account, Address } from "viem";
import { type ChainEvents, createChainEvents } from "./chain-events.ts";
import { type Connection, connect, RPC_MS } from "./connection.ts";
import type { Log } from "./log.ts";
import type { KeeperChainSettings } from "./settings.ts";

export type KeeperChain = Connection & { settings: KeeperChainSettings; events: ChainEvents };

/** Reads many contracts in few requests. It works on every chain: no contract has to be deployed for it. */
export const inBatches = { allowFailure: false, deployless: true, batchSize: 4_096 } as const;

export function connectKeeperChain(
  settings: KeeperChainSettings,
  options: { account: Account; database: DatabaseSync; now(): number; log: Log },
): KeeperChain {
  const { name, chainId, rpcUrl, startBlock, confirmations } = settings;
  const { account, database, now, log } = options;
  const client = chainClientOf(rpcUrl);
  const events = createChainEvents({
    ...{ client, database, chainId, startBlock, confirmations, now },
    onReorganized: (reason) => log("alert", "reorganized", { chain: name, reason }),
  });
  return { settings, events, ...connect({ chainId, rpcUrl, account }) };
}

/** Sends each request once: the caller repeats it at its next poll. */
export function chainClientOf(url: string): ChainClient {
  return createChainClient({ url, fetch, random: Math.random, timeoutMs: RPC_MS, tries: 1, timers: processTimers });
}

const processTimers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

export function hasContract({ settings }: Pick<KeeperChain, "settings">, name: string): boolean {
  return ownValue(settings.contracts, name) !== undefined;
}

/** The address of a contract. Throws if the settings do not have it. */
export function contractOn({ settings }: Pick<KeeperChain, "settings">, name: string): Address {
  const address = ownValue(settings.contracts, name);
  if (address === undefined) throw new TypeError(`${settings.name} has no ${name}`);
  return address;
}

/** The chain's own time, in seconds. */
export async function timeOn({ reader }: KeeperChain): Promise<bigint> {
  return (await reader.getBlock()).timestamp;
}

export async function timeOfBlock({ reader }: KeeperChain, block: number): Promise<bigint> {
  return (await reader.getBlock({ blockNumber: BigInt(block) })).timestamp;
}
