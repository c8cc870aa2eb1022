import { createAlarm } from "@inference/chain/alarm";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import { NOT_POSTED } from "@inference/ledger/journal";
import { chainPartition, journalPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { ReconciliationRow } from "@inference/ledger/tables";
import type { NanoUsd } from "@inference/protocol/money";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";

/**
 * Reconciles each UTC day when it is over: what accounts were charged = the day's journal = its batches = what the
 * chain has debited for them, and by name what waits, is on its way or was set aside. The record is written again until
 * nothing of the day waits, and is closed then.
 */
export type Reconciler = {
  /** Reconciles the days that are due. Never throws. */
  poll(): Promise<void>;
};

export type ReconcilerOptions = {
  ledger: LedgerClient;
  chainId: number;
  now(): number;
  onAlert(message: string): void;
  /** What accounts were charged for requests that were admitted on a day. Absent: this host cannot add it up. */
  accountsOn?: (day: string) => Promise<NanoUsd>;
};

/** Requests of a day have ended by then. A day is reconciled from then on if nothing of it waits. */
const ENDED_MS = 3_600_000;
/** Until then the day's own ceiling pays. It is reconciled from then on, whatever waits. */
const GRACE_MS = 6 * 3_600_000;
/** Receipts are kept for 48 hours at least. */
const RECEIPTS_MS = 40 * 3_600_000;
/** Days after which a record that is open stays as it is. */
const OPEN_DAYS = 7;
const PAGE = 500;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { ledger, chainId, now } = options;
  const partition = chainPartition(chainId);
  const alarm = createAlarm(options);

  async function reconcile(day: string, earlier: ReconciliationRow | undefined): Promise<void> {
    const start = Date.parse(day);
    const journal = await readJournal(day);
    const batches = await readBatches(day, journal.byBatch);
    const accountsNanoUsd = await accountsOf(day, earlier);
    const waits = journal.waitingNanoUsd + batches.onTheirWayNanoUsd > 0;
    if (waits && now() < start + DAY_MS + GRACE_MS) return;
    const named = batches.settledNanoUsd + batches.onTheirWayNanoUsd + journal.waitingNanoUsd + journal.setAsideNanoUsd;
    const differences = [
      accountsNanoUsd === null ? 0 : accountsNanoUsd - journal.totalNanoUsd,
      journal.sumNanoUsd - journal.totalNanoUsd,
      named - journal.totalNanoUsd,
      batches.settledNanoUsd - batches.debitedNanoUsd,
      batches.differentNanoUsd,
    ];
    // Of both signs: they must not cancel each other out.
    const unexplainedNanoUsd = differences.reduce((sum, difference) => sum + Math.abs(difference), 0);
    const { byBatch: _, totalNanoUsd: journalNanoUsd, sumNanoUsd: __, ...ofJournal } = journal;
    const { differentNanoUsd: ___, settledNanoUsd: batchesNanoUsd, ...ofBatches } = batches;
    const record: Reconciliation = { accountsNanoUsd, journalNanoUsd, batchesNanoUsd, ...ofBatches, ...ofJournal };
    const closedAt = waits ? null : now();
    const detail = JSON.stringify(record);
    if (earlier?.detail === detail && earlier.closedAt === closedAt) return;
    const row = { id: day, at: now(), closedAt, unexplainedNanoUsd, detail };
    await ledger.run(() => send(partition, { type: "reconcile", ...row }), { untilDurable: true });
    if (unexplainedNanoUsd > 0) alarm(day, `${day}: ${unexplainedNanoUsd} nano-dollars are not explained: ${detail}`);
  }

  async function accountsOf(day: string, earlier: ReconciliationRow | undefined): Promise<NanoUsd | null> {
    if (options.accountsOn === undefined) return null;
    if (now() < Date.parse(day) + DAY_MS + RECEIPTS_MS) return options.accountsOn(day);
    return earlier === undefined ? null : (JSON.parse(earlier.detail) as Reconciliation).accountsNanoUsd;
  }

  async function readJournal(day: string) {
    const where = journalPartition(day);
    const { settledNanoUsd: totalNanoUsd } = await ledger.read(where, { type: "journal" });
    const sums = { uses: 0, freeUses: 0, sumNanoUsd: 0, waitingNanoUsd: 0, setAsideNanoUsd: 0 };
    const byBatch = new Map<number, number>();
    for (let after = ""; ; ) {
      const page = await ledger.read(where, { type: "uses", after, limit: PAGE });
      for (const { chargeNanoUsd, batch } of page) {
        sums.uses += 1;
        sums.sumNanoUsd += chargeNanoUsd;
        if (chargeNanoUsd === 0) sums.freeUses += 1;
        else if (batch === null) sums.waitingNanoUsd += chargeNanoUsd;
        else if (batch === NOT_POSTED) sums.setAsideNanoUsd += chargeNanoUsd;
        else byBatch.set(batch, (byBatch.get(batch) ?? 0) + chargeNanoUsd);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return { totalNanoUsd, ...sums, byBatch };
      after = last.id;
    }
  }

  async function readBatches(day: string, byBatch: ReadonlyMap<number, number>) {
    const sums = { settledNanoUsd: 0, debitedNanoUsd: 0, onTheirWayNanoUsd: 0, carriedNanoUsd: 0, differentNanoUsd: 0 };
    for (const [batch, sum] of byBatch) {
      const built = await ledger.read(partition, { type: "batch", batch });
      const [posted] = await ledger.read(partition, { type: "posted", before: batch + 1, limit: 1 });
      const isRead = posted?.batch === batch;
      if (built?.state !== "settled" || !isRead) {
        sums.onTheirWayNanoUsd += sum;
        continue;
      }
      sums.differentNanoUsd += Math.abs(sum - built.amountNanoUsd);
      sums.settledNanoUsd += built.amountNanoUsd;
      sums.debitedNanoUsd += posted.origin === "ours" ? posted.amountNanoUsd : 0;
      if (posted.day !== day) sums.carriedNanoUsd += posted.amountNanoUsd;
    }
    return sums;
  }

  async function reconcileDue(): Promise<void> {
    const today = dayNumber(now());
    const lastDue = now() % DAY_MS < ENDED_MS ? today - 2 : today - 1;
    const known = await ledger.read(partition, { type: "reconciliations", limit: OPEN_DAYS });
    for (const row of known.toReversed()) if (row.closedAt === null) await reconcile(row.id, row);
    const newest = known[0];
    const first = newest === undefined ? lastDue : dayNumber(Date.parse(newest.id)) + 1;
    for (let day = first; day <= lastDue; day++) await reconcile(utcDay(day * DAY_MS), undefined);
  }

  return {
    async poll() {
      try {
        await reconcileDue();
      } catch (error) {
        if (!(error instanceof LedgerUnavailable)) alarm("failed", `it failed, and is tried again: ${String(error)}`);
      }
    },
  };
}
