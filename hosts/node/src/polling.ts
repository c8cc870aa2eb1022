import { keepPolling } from "@inference/chain/polling";
import type { LedgerClient } from "@inference/ledger/client";
import type { PostingTerms } from "@inference/ledger/commands";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { type MoneyPath, RECONCILE_MS } from "@inference/settler/money-path";
import { statementTrees } from "@inference/settler/statement-tree";
import { createStatements, type Statements } from "@inference/settler/statements";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

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

type Polled = Pick<MoneyPath, "watcher" | "settler" | "reconciler" | "dollars"> & { statements: Statements };

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
