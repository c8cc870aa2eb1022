import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { ChainReader } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { createChainReader } from "../reader.ts";
import { type ChainClient, createChainClient } from "../rpc.ts";
import {
  createSettlementWatcher,
  type PollResult,
  type SettlementWatcher,
  type SettlementWatcherOptions,
} from "../settlement-watcher.ts";
import { type MemoryLedger, openMemoryLedger } from "./memory-ledger.ts";
import type { PrimaryChain } from "./primary-chain.ts";
import { timers } from "./timers.ts";

/** A watcher with its ledger and its alerts. */
export type Watch = {
  watcher: SettlementWatcher;
  ledger: MemoryLedger;
  alerts: string[];
  clock: { skewMs: number };
  /** Polls until there is nothing more to read at once. */
  drain(): Promise<PollResult>;
  balance(account: Address): Promise<number>;
  ceiling(): Promise<number>;
};

export const alice: Address = "0x00000000000000000000000000000000000a11ce";
export const bob: Address = "0x0000000000000000000000000000000000000b0b";

export function clientOf(url: string): ChainClient {
  return createChainClient({ url, fetch, random: () => 0, timers, timeoutMs: 60_000, pauseMs: 1 });
}

/** A reader of a contract's chain, whose watcher is at block 7 and shows one activation of Alice's. */
export function readerOf(url: string, settlement: Address, contracts = {}): ChainReader {
  const shown = [{ amountNanoUsd: 1, block: 2, transaction: "0x3" }];
  const watcher = {
    pendingActivations: (account: Address) => (account === alice ? shown : []),
    status: () => ({ state: "following" as const, block: 7, head: 9, lagBlocks: 0, lastPollAt: 1 }),
  };
  return createChainReader({ client: clientOf(url), settlement, contracts, timers, watcher });
}

export function watch(
  chain: PrimaryChain,
  options: Partial<SettlementWatcherOptions> & { url?: string; ledger?: MemoryLedger } = {},
): Watch {
  const clock = { skewMs: 0 };
  const now = () => Date.now() + clock.skewMs;
  const { url = chain.rpcUrl, ledger = openMemoryLedger(now), ...rest } = options;
  const alerts: string[] = [];
  const watcher = createSettlementWatcher({
    client: clientOf(url),
    chainId: 31337,
    settlement: chain.settlement,
    startBlock: chain.startBlock,
    confirmations: "finalized",
    now,
    onAlert: (message) => alerts.push(message),
    ...rest,
    ledger,
  });
  return {
    watcher,
    ledger,
    alerts,
    clock,
    async drain() {
      let result = await watcher.poll();
      while (result.outcome === "advanced" && result.more) result = await watcher.poll();
      return result;
    },
    balance: async (account) =>
      (await ledger.read(accountPartition(account), { type: "balance", at: now() })).limitNanoUsd ?? 0,
    ceiling: async () => (await ledger.read(ceilingPartition, { type: "ceiling", at: now() })).limitNanoUsd ?? 0,
  };
}
