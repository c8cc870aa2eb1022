import { createAlarm } from "@inference/chain/alarm";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import { NOT_POSTED } from "@inference/ledger/journal";
import { journalsOf } from "@inference/ledger/journals";
import { ceilingPartition, chainPartition, journalPartition, type Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { ReconciliationRow } from "@inference/ledger/tables";
import type { NanoUsd } from "@inference/protocol/money";
import type { Reconciliation } from "@inference/protocol/reconciliation";
import { DAY_MS, dayNumber, utcDay } from "@inference/protocol/window";

/**
 * Reconciles each UTC day when it is over: what accounts were charged = the day's journal = its batches = what the
 * chain has debited for them, and by name what waits, is on its way or was set aside. The record is written again until
 * nothing of the day waits, and is closed then. A day stays open too while requests of it have not ended, while what
 * accounts were charged could not be added up, and while a foreign batch that it paid is not accepted.
 */
export type Reconciler = {
  /** Reconciles the days that are due. Never throws. */
  poll(): Promise<void>;
};

export type ReconcilerOptions = {
  ledger: LedgerClient;
  chainId: number;
  /** Of the ledger. It takes no record of a day that is not over by its own. */
  now(): number;
  onAlert(message: string): void;
  /** What accounts were charged for requests that were admitted on a day. Absent: this host cannot add it up. */
  accountsOn?: (day: string) => Promise<NanoUsd>;
  /** How long `accountsOn` knows a day after its end. Absent: 48 hours. */
  receiptsKeptMs?: number;
};

/** Requests of a day have ended by then. A day is reconciled from then on if nothing of it waits. */
const ENDED_MS = 3_600_000;
/** Until then the day's own ceiling pays. It is reconciled from then on, whatever waits. */
const GRACE_MS = 6 * 3_600_000;
/** Receipts are kept for 48 hours at least. Some hours before they go they are not trusted to be complete. */
const RECEIPTS_KEPT_MS = 48 * 3_600_000;
const RECEIPTS_MARGIN_MS = 8 * 3_600_000;
/** The sum of a day that ended so long ago is taken again only if it differs from the journal. */
const FRESH_MS = 40 * 3_600_000;
/** Days after which a record that is open stays as it is. The first run goes back as far. */
const OPEN_DAYS = 7;
const PAGE = 500;

/** Of a day: its record, which is open. `isBackfill`: it is skipped if it has no uses. */
type Due = { day: string; earlier?: ReconciliationRow; isBackfill?: boolean };
/** By day: what foreign batches paid from it, and the part of those that are not accepted. */
type JournalSums = Record<
  "uses" | "freeUses" | "totalNanoUsd" | "sumNanoUsd" | "waitingNanoUsd" | "setAsideNanoUsd",
  number
>;
type ForeignOn = Map<string, { sumNanoUsd: NanoUsd; openNanoUsd: NanoUsd }>;

export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { ledger, chainId, now } = options;
  const partition = chainPartition(chainId);
  const alarm = createAlarm(options);

  /** False if the day is not over by the ledger's clock. */
  async function reconcile({ day, earlier, isBackfill }: Due, foreignOn: ForeignOn): Promise<boolean> {
    const start = Date.parse(day);
    // First: what ends after this is in the journal too late.
    const isServing = await hasOpenHolds(day);
    const journal = await readJournal(day);
    if (isBackfill && journal.uses === 0) return true;
    const batches = await readBatches(day, journal.byBatch);
    const accountsNanoUsd = await accountsOf(day, { earlier, journalNanoUsd: journal.totalNanoUsd });
    const foreign = foreignOn.get(day) ?? { sumNanoUsd: 0, openNanoUsd: 0 };
    const waits = isServing || journal.waitingNanoUsd + batches.onTheirWayNanoUsd > 0;
    if (waits && now() < start + DAY_MS + GRACE_MS) return true;
    const isUncounted = options.accountsOn !== undefined && accountsNanoUsd === null;
    const named = batches.settledNanoUsd + batches.onTheirWayNanoUsd + journal.waitingNanoUsd + journal.setAsideNanoUsd;
    const differences = [
      accountsNanoUsd === null ? 0 : accountsNanoUsd - journal.totalNanoUsd,
      journal.sumNanoUsd - journal.totalNanoUsd,
      named - journal.totalNanoUsd,
      batches.settledNanoUsd - batches.debitedNanoUsd,
      batches.differentNanoUsd,
      foreign.openNanoUsd,
    ];
    // Of both signs: they must not cancel each other out.
    const unexplainedNanoUsd = differences.reduce((sum, difference) => sum + Math.abs(difference), 0);
    const { byBatch: _, totalNanoUsd: journalNanoUsd, sumNanoUsd: __, ...ofJournal } = journal;
    const { differentNanoUsd: ___, settledNanoUsd: batchesNanoUsd, ...ofBatches } = batches;
    const foreignNanoUsd = foreign.sumNanoUsd;
    const sums = { accountsNanoUsd, journalNanoUsd, batchesNanoUsd, foreignNanoUsd };
    const record: Reconciliation = { ...sums, ...ofBatches, ...ofJournal };
    const closedAt = waits || isUncounted || foreign.openNanoUsd > 0 ? null : now();
    const detail = JSON.stringify(record);
    const isSame = earlier?.detail === detail && earlier.unexplainedNanoUsd === unexplainedNanoUsd;
    if (!isSame || earlier.closedAt !== closedAt) {
      const row = { id: day, at: now(), closedAt, unexplainedNanoUsd, detail };
      const reply = await ledger.run(() => send(partition, { type: "reconcile", ...row }), { untilDurable: true });
      if (reply.status === "early") return false;
    }
    if (unexplainedNanoUsd > 0) alarm(day, `${day}: ${unexplainedNanoUsd} nano-dollars are not explained: ${detail}`);
    if (isUncounted) alarm(`${day} uncounted`, `${day}: receipts are gone, and accounts cannot be added up any more`);
    return true;
  }

  /** Whether requests of the day have not ended. The ceiling holds every prepaid request. */
  async function hasOpenHolds(day: string): Promise<boolean> {
    const query = { type: "ceiling", at: Date.parse(day) } as const;
    return (await ledger.read(ceilingPartition, query)).heldNanoUsd > 0;
  }

  async function accountsOf(
    day: string,
    { earlier, journalNanoUsd }: { earlier: ReconciliationRow | undefined; journalNanoUsd: NanoUsd },
  ): Promise<NanoUsd | null> {
    if (options.accountsOn === undefined) return null;
    const known = earlier === undefined ? null : (JSON.parse(earlier.detail) as Reconciliation).accountsNanoUsd;
    const age = now() - Date.parse(day) - DAY_MS;
    if (known === journalNanoUsd && age >= FRESH_MS) return known;
    const isKept = age < (options.receiptsKeptMs ?? RECEIPTS_KEPT_MS) - RECEIPTS_MARGIN_MS;
    return isKept ? options.accountsOn(day) : known;
  }

  /** What foreign batches paid from each day's ceiling: that of the day a batch is made on, or the one before. */
  async function readForeign(since: string): Promise<ForeignOn> {
    const sums: ForeignOn = new Map();
    const end = utcDay(Date.parse(since) - DAY_MS);
    for (let before: number | undefined; ; ) {
      const query = { type: "posted", limit: PAGE } as const;
      const page = await ledger.read(partition, before === undefined ? query : { ...query, before });
      for (const { day, origin, amountNanoUsd } of page) {
        if (origin === "ours") continue;
        const { sumNanoUsd, openNanoUsd } = sums.get(day) ?? { sumNanoUsd: 0, openNanoUsd: 0 };
        const open = origin === "foreign" ? amountNanoUsd : 0;
        sums.set(day, { sumNanoUsd: sumNanoUsd + amountNanoUsd, openNanoUsd: openNanoUsd + open });
      }
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE || last.day < end) return sums;
      before = last.batch;
    }
  }

  async function readJournal(day: string) {
    const sums = { uses: 0, freeUses: 0, totalNanoUsd: 0, sumNanoUsd: 0, waitingNanoUsd: 0, setAsideNanoUsd: 0 };
    const byBatch = new Map<number, number>();
    for (const journal of await journalsOf(ledger, day)) await addJournal(journalPartition(journal), sums, byBatch);
    return { ...sums, byBatch };
  }

  async function addJournal(where: Partition, sums: JournalSums, byBatch: Map<number, number>): Promise<void> {
    sums.totalNanoUsd += (await ledger.read(where, { type: "journal" })).settledNanoUsd;
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
      if (last === undefined || page.length < PAGE) return;
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
    const due: Due[] = known
      .flatMap((row) => (row.closedAt === null ? { day: row.id, earlier: row } : []))
      .toReversed();
    const newest = known[0];
    const first = newest === undefined ? lastDue - OPEN_DAYS + 1 : dayNumber(Date.parse(newest.id)) + 1;
    for (let day = first; day <= lastDue; day++) {
      due.push({ day: utcDay(day * DAY_MS), isBackfill: newest === undefined && day < lastDue });
    }
    if (due[0] === undefined) return;
    const foreignOn = await readForeign(due[0].day);
    for (const one of due) if (!(await reconcile(one, foreignOn))) return;
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
