import { createDollarFollower, type DollarFollower } from "@inference/chain/dollar-follower";
import { keepPolling } from "@inference/chain/polling";
import type { KeyValueStore } from "@inference/gateway/environment";
import { followedOf } from "@inference/gateway/settings";
import type { LedgerClient } from "@inference/ledger/client";
import type { PostingTerms } from "@inference/ledger/commands";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { type MoneyPath, RECONCILE_MS } from "@inference/settler/money-path";
import { statementTrees } from "@inference/settler/statement-tree";
import { createStatements, type Statements } from "@inference/settler/statements";
import { chainClientOf } from "./chain.ts";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** The follower of secondary chains' dollars; undefined without a node of any. */
export function openDollarFollower(settings: NodeSettings, keyValue: KeyValueStore): DollarFollower | undefined {
  const followed = followedOf(settings);
  if (followed === null) return undefined;
  return createDollarFollower({
    ...{ followed, clientOf: chainClientOf, now: Date.now },
    confirmations: settings.CONFIRMATIONS,
    store: {
      load: () => keyValue.get(DOLLARS),
      save: (text) => keyValue.put(DOLLARS, text),
    },
    onAlert: (message) => log("alert", "dollars", { message }),
  });
}

const DOLLARS = "dollars";

/** Makes the statements of accounts whose uses are due, with or without a settler. */
export function openStatements(
  settings: NodeSettings,
  { ledger, terms, keccak }: { ledger: LedgerClient; terms: PostingTerms; keccak: Keccak },
): Statements {
  const settlement = { chainId: settings.PRIMARY_CHAIN_ID, address: settings.SETTLEMENT_ADDRESS };
  return createStatements({
    ...{ ledger, terms, chainId: settlement.chainId, now: Date.now },
    makeTree: statementTrees(settlement, keccak),
    onAlert: (message) => log("alert", "statements", { message }),
  });
}

type Polled = Pick<MoneyPath, "watcher" | "settler" | "reconciler"> & {
  statements: Statements;
  dollars: DollarFollower | undefined;
};

/** Polls everything that follows a chain. The result stops it, and resolves when no poll is running. */
export function startPolling(
  { watcher, settler, reconciler, statements, dollars }: Polled,
  { CHAIN_POLL_MS: intervalMs }: NodeSettings,
): () => Promise<void> {
  const stops = [
    keepPolling({ watcher, timers, intervalMs }),
    keepPolling({ watcher: idleAfter(statements), timers, intervalMs }),
    keepPolling({ watcher: idleAfter(settler), timers, intervalMs }),
    keepPolling({ watcher: idleAfter(reconciler), timers, intervalMs: RECONCILE_MS }),
    // Each poll asks every chain, and only people wait for the answer.
    keepPolling({ watcher: idleAfter(dollars), timers, intervalMs: 5 * intervalMs }),
  ];
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

function idleAfter(part: { poll(): Promise<unknown> } | undefined) {
  return {
    async poll() {
      await part?.poll();
      return { outcome: "idle" } as const;
    },
  };
}
