import { keepPolling } from "@inference/chain/polling";
import type { ChainClient } from "@inference/chain/rpc";
import type { LedgerClient } from "@inference/ledger/client";
import type { PostingTerms } from "@inference/ledger/commands";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { createReconciler } from "@inference/settler/reconcile";
import { createSettler, type Settler } from "@inference/settler/settler";
import { statementTrees } from "@inference/settler/statement-tree";
import { createStatements } from "@inference/settler/statements";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

type Parts = { ledger: LedgerClient; client: ChainClient };

/** The settler that the settings ask for; undefined without a key. */
export function openSettler(settings: NodeSettings, { ledger, client }: Parts): Settler | undefined {
  if (settings.SETTLER_PRIVATE_KEY === undefined) return undefined;
  return createSettler({
    ...{ client, ledger, now: Date.now },
    chainId: settings.PRIMARY_CHAIN_ID,
    settlement: settings.SETTLEMENT_ADDRESS,
    privateKey: settings.SETTLER_PRIVATE_KEY,
    onAlert: (message) => log("alert", "settler", { message }),
    limits: { window: settings.SETTLER_WINDOW },
  });
}

/** Posts statements. The result stops it, and resolves when the poll that was running is over. */
export function keepSettling(settler: Settler, intervalMs: number): () => Promise<void> {
  return keepPolling({ watcher: idleAfter(() => settler.poll()), timers, intervalMs });
}

/**
 * Makes the statements of accounts whose uses are due, with or without a settler. The result stops it, and resolves
 * when the poll that was running is over.
 */
export function keepStatements(
  settings: NodeSettings,
  { ledger, terms, keccak }: { ledger: LedgerClient; terms: PostingTerms; keccak: Keccak },
): () => Promise<void> {
  const settlement = { chainId: settings.PRIMARY_CHAIN_ID, address: settings.SETTLEMENT_ADDRESS };
  const statements = createStatements({
    ...{ ledger, terms, chainId: settlement.chainId, now: Date.now },
    makeTree: statementTrees(settlement, keccak),
    onAlert: (message) => log("alert", "statements", { message }),
  });
  return keepPolling({ watcher: idleAfter(() => statements.poll()), timers, intervalMs: settings.CHAIN_POLL_MS });
}

/** Reconciles the days that are over. The result stops it, and resolves when the poll that was running is over. */
export function keepReconciling(
  settings: NodeSettings,
  { ledger, client, now }: Parts & { now(): number },
): () => Promise<void> {
  const reconciler = createReconciler({
    ...{ client, ledger, now, chainId: settings.PRIMARY_CHAIN_ID, settlement: settings.SETTLEMENT_ADDRESS },
    onAlert: (message) => log("alert", "reconciliation", { message }),
  });
  return keepPolling({ watcher: idleAfter(() => reconciler.poll()), timers, intervalMs: RECONCILE_MS });
}

function idleAfter(poll: () => Promise<unknown>) {
  return { poll: async () => poll().then(() => ({ outcome: "idle" as const })) };
}

const RECONCILE_MS = 600_000;
