import type { PollResult } from "@inference/chain/activation-watcher";
import type { BooksCheck } from "@inference/chain/books-check";
import { keepPolling } from "@inference/chain/polling";
import type { ChainClient } from "@inference/chain/rpc";
import type { LedgerClient } from "@inference/ledger/client";
import { DAY_MS } from "@inference/protocol/window";
import { createReconciler } from "@inference/settler/reconcile";
import { createSettler, type Settler } from "@inference/settler/settler";
import type { NodeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import type { NodeSettings } from "./settings.ts";
import { timers } from "./timers.ts";

/** The settler that the settings ask for; undefined without a key. */
export function openSettler(
  settings: NodeSettings,
  { ledger, client }: { ledger: LedgerClient; client: ChainClient },
): Settler | undefined {
  if (settings.SETTLER_PRIVATE_KEY === undefined) return undefined;
  return createSettler({
    ...{ client, ledger, now: Date.now },
    chainId: settings.PRIMARY_CHAIN_ID,
    settlement: settings.SETTLEMENT_ADDRESS,
    privateKey: settings.SETTLER_PRIVATE_KEY,
    confirmations: settings.CONFIRMATIONS,
    startBlock: settings.SETTLEMENT_START_BLOCK,
    onAlert: (message) => log("alert", "settler", { message }),
    limits: { intervalMs: settings.SETTLER_INTERVAL_MS },
  });
}

/**
 * Polls, once the books are known to be current, until the settler halts. The result stops it, and resolves when the
 * poll that was running is over.
 */
export function keepSettling(settler: Settler, books: BooksCheck, intervalMs: number): () => Promise<void> {
  async function poll(): Promise<PollResult> {
    if ((await books.look()).state !== "current") return { outcome: "idle" };
    const { state, reason = "" } = await settler.poll();
    return state === "halted" ? { outcome: state, reason } : { outcome: "idle" };
  }
  return keepPolling({ watcher: { poll }, timers, intervalMs });
}

/** Reconciles the days that are over. The result stops it, and resolves when the poll that was running is over. */
export function keepReconciling(
  settings: NodeSettings,
  { ledger, books, now }: { ledger: NodeLedger; books: BooksCheck; now(): number },
): () => Promise<void> {
  const reconciler = createReconciler({
    ...{ ledger, now, chainId: settings.PRIMARY_CHAIN_ID, accountsOn: ledger.chargedOn },
    receiptsKeptMs: settings.RECEIPT_RETENTION_DAYS * DAY_MS,
    onAlert: (message) => log("alert", "reconciliation", { message }),
  });
  async function poll(): Promise<PollResult> {
    if (books.standing().state === "current") await reconciler.poll();
    return { outcome: "idle" };
  }
  return keepPolling({ watcher: { poll }, timers, intervalMs: RECONCILE_MS });
}

const RECONCILE_MS = 600_000;
