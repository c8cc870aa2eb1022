import type { ChainIdentity } from "@inference/chain/chain-identity";
import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import { createSettlementWatcher, type SettlementWatcher } from "@inference/chain/settlement-watcher";
import { startContradiction } from "@inference/chain/start-check";
import { SettingsError } from "@inference/gateway/settings";
import type { LedgerClient } from "@inference/ledger/client";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** The primary chain of the settings, and what reads it into the ledger. */
export type OpenChain = { client: ChainClient; watcher: SettlementWatcher };

/** Throws `SettingsError` if the chain contradicts the settings. */
export async function openChain(settings: NodeSettings, ledger: LedgerClient, keccak: Keccak): Promise<OpenChain> {
  const client = chainClientOf(settings.PRIMARY_RPC_URL);
  const identity: ChainIdentity = {
    chainId: settings.PRIMARY_CHAIN_ID,
    settlement: settings.SETTLEMENT_ADDRESS,
    anchor: settings.PRIMARY_ANCHOR,
    contracts: settings,
  };
  const once = chainClientOf(settings.PRIMARY_RPC_URL, 1);
  const contradiction = await startContradiction(once, identity);
  if (contradiction !== undefined) throw new SettingsError(`The gateway cannot start. ${contradiction}.`);
  const watcher = createSettlementWatcher({
    ...identity,
    client,
    startBlock: settings.SETTLEMENT_START_BLOCK,
    confirmations: settings.CONFIRMATIONS,
    stalledAfterMs: settings.CHAIN_STALLED_AFTER_MS,
    ...(settings.WITNESS_RPC_URL === undefined ? {} : { secondNode: chainClientOf(settings.WITNESS_RPC_URL) }),
    ledger,
    keccak,
    // The file may have been put back before the start.
    mayBeCopy: true,
    now: Date.now,
    onAlert: (message) => log("alert", "chain", { message }),
  });
  return { client, watcher };
}

export function chainClientOf(url: string, tries = 3): ChainClient {
  return createChainClient({ url, fetch, random: Math.random, timers, tries });
}
