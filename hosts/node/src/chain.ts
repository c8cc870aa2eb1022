import { type ActivationWatcher, createActivationWatcher, type PollResult } from "@inference/chain/activation-watcher";
import { type BooksCheck, createBooksCheck } from "@inference/chain/books-check";
import type { ChainIdentity } from "@inference/chain/chain-identity";
import { type ChainClient, createChainClient } from "@inference/chain/rpc";
import { startContradiction } from "@inference/chain/start-check";
import { SettingsError } from "@inference/gateway/settings";
import type { LedgerClient } from "@inference/ledger/client";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** The primary chain of the settings, and what reads it into the ledger. */
export type OpenChain = { client: ChainClient; watcher: ActivationWatcher; books: BooksCheck };

/** Throws `SettingsError` if the chain contradicts the settings. */
export async function openChain(settings: NodeSettings, ledger: LedgerClient): Promise<OpenChain> {
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
  const watcher = createActivationWatcher({
    ...identity,
    client,
    startBlock: settings.SETTLEMENT_START_BLOCK,
    confirmations: settings.CONFIRMATIONS,
    stalledAfterMs: settings.CHAIN_STALLED_AFTER_MS,
    ...(settings.WITNESS_RPC_URL === undefined ? {} : { secondNode: chainClientOf(settings.WITNESS_RPC_URL) }),
    ledger,
    now: Date.now,
    onAlert: (message) => log("alert", "chain", { message }),
  });
  const { chainId, settlement } = identity;
  const onAlert = (message: string) => log("alert", "books", { message });
  const books = createBooksCheck({ client: once, chainId, settlement, ledger, now: Date.now, onAlert });
  return { client, watcher, books };
}

export function chainClientOf(url: string, tries = 3): ChainClient {
  return createChainClient({ url, fetch, random: Math.random, timers, tries });
}

/** Old books take nothing in: a batch that they lack would count as foreign. */
export function whenCurrent(books: BooksCheck, { poll }: ActivationWatcher): { poll(): Promise<PollResult> } {
  return {
    async poll() {
      const { state } = await books.look();
      return state === "current" ? poll() : { outcome: "waiting", reason: `the books are ${state}` };
    },
  };
}
