import type { LapsedHold } from "@inference/ledger/client";
import { sendHeard } from "@inference/ledger/hearing";
import { chainPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { ReceiptRow } from "@inference/ledger/tables";
import type { AttoUsd, EmbeddingPrice, TextPrice } from "@inference/protocol/model";
import { type NanoUsd, nanoUsdToAtto } from "@inference/protocol/money";
import { CatalogueError } from "../catalogue/catalogue-error.ts";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import { type AnswerDetail, endCommand, type ReceiptDetail } from "../inference/charge/receipt.ts";
import type { TokenBound } from "../pricing/bound.ts";
import { chargeForUsage } from "../pricing/charge.ts";
import { parseUsage, type TokenUsage } from "../pricing/usage.ts";
import { openRecords, type Records } from "./provider-records.ts";

/**
 * Ends the holds of requests that no process works on. A lapsed hold is orphaned first. Then it is settled with the
 * provider's record of the request, else with its last checkpoint, else released. A bill of the provider beyond
 * the charge is a loss. That includes requests that were never forwarded, because a hold does not show it. Holds of
 * live requests of this process are skipped: their deadline ends them. Returns the number of holds that it looked at.
 */
export async function sweep(
  gateway: Gateway,
  graceMs: number = limits.orphanGraceMs,
  stopped?: AbortSignal,
): Promise<number> {
  const { clock, ledger } = gateway.environment;
  const at = clock.now();
  const seen = new Set<string>();
  let left = 0;
  const isOver = (): boolean => stopped?.aborted === true || clock.now() - at >= limits.sweepMs;
  while (!isOver()) {
    // Ended and orphaned holds leave the list. Those that stay are skipped.
    const lapsed = await ledger.lapsedHolds(at, left + HOLDS_A_PAGE);
    const fresh = lapsed.filter((entry) => !seen.has(nameOf(entry)));
    if (fresh.length === 0) break;
    for (const entry of fresh) seen.add(nameOf(entry));
    left = lapsed.length - fresh.length + (await sweepPage(gateway, fresh, graceMs, isOver));
  }
  return seen.size;
}

function nameOf({ partition, hold }: LapsedHold): string {
  return `${partition} ${hold.id}`;
}

/** Returns how many of these holds did not change. */
async function sweepPage(
  gateway: Gateway,
  page: readonly LapsedHold[],
  graceMs: number,
  isOver: () => boolean,
): Promise<number> {
  const mine = page.filter(({ hold }) => !gateway.live.has(hold.id));
  const records = openRecords(
    gateway,
    mine.map(({ hold }) => hold),
  );
  const waiting = mine.values();
  let changed = 0;
  async function work(): Promise<void> {
    for (const entry of waiting) {
      if (isOver()) return;
      try {
        if (await sweepHold(gateway, entry, graceMs, records)) changed++;
      } catch (error) {
        gateway.environment.log("alert", "sweep_failed", { request: entry.hold.id, error: String(error) });
      }
    }
  }
  await Promise.all(Array.from({ length: HOLDS_AT_ONCE }, work));
  return page.length - changed;
}

/** Orphans the holds of a process that has ended at once, whatever their lease. */
export async function orphanAll(
  gateway: Gateway,
  holds: readonly LapsedHold[],
  graceMs: number = limits.orphanGraceMs,
): Promise<void> {
  const { clock, ledger } = gateway.environment;
  const at = clock.now();
  await Promise.all(
    holds.map(({ partition, hold }) => {
      const wait = mayBeRecorded(gateway, hold) ? graceMs : 0;
      return ledger.run(() => send(partition, { type: "orphan", id: hold.id, at, graceMs: wait }));
    }),
  );
}

const HOLDS_A_PAGE = 256;
const HOLDS_AT_ONCE = 8;

/** Returns whether the hold changed. */
async function sweepHold(
  gateway: Gateway,
  { partition, hold }: LapsedHold,
  graceMs: number,
  records: Records,
): Promise<boolean> {
  const { clock, ledger } = gateway.environment;
  const at = clock.now();
  const detail = JSON.parse(hold.detail) as AnswerDetail;
  const price = await recordPrice(gateway, hold, detail);
  const recorded = price === null || price === "late" ? undefined : await recordedUsage(gateway, hold, price, records);
  if (hold.state === "open" && recorded === undefined && price !== null) {
    // The provider may write its record late, so it is asked again until the grace period is over.
    await ledger.run(() => send(partition, { type: "orphan", id: hold.id, at, graceMs }));
    return true;
  }
  if (price === "late") return false;
  const basis = recorded === undefined ? "checkpoint" : "record";
  const chargeNanoUsd = Math.min(recorded?.chargeNanoUsd ?? hold.deliveredNanoUsd, hold.heldNanoUsd);
  // Without a record nothing tells whether the request was forwarded and how long its answer is.
  const bill = recorded?.chargeNanoUsd ?? hold.heldNanoUsd;
  const lossNanoUsd = Math.max(0, bill - chargeNanoUsd);
  const receipt = sweptDetail(detail, basis, recorded?.usage ?? null, hold);
  const outcome = chargeNanoUsd > 0 ? "settle" : "release";
  const command = endCommand({ id: hold.id, at }, { outcome, chargeNanoUsd, lossNanoUsd }, receipt);
  const chain = chainPartition(gateway.config.settlement.chainId);
  const { status } = await ledger.run(() => sendHeard(chain, partition, command), { untilDurable: true });
  if (status === "unheard") return false;
  // It was ended, and counted, elsewhere.
  if (status !== "settled" && status !== "released") return true;
  gateway.metrics.swept({ chargeNanoUsd, lossNanoUsd, byAgent: hold.server !== null });
  if (lossNanoUsd > 0) {
    const why =
      recorded === undefined
        ? "the request was cut off here, and the provider may bill it"
        : "the provider's record is above the hold";
    gateway.environment.log("alert", "loss", { request: hold.id, lossNanoUsd, why });
  }
  return true;
}

function mayBeRecorded(gateway: Gateway, hold: ReceiptRow): boolean {
  return gateway.config.upstream.recordUrl !== null && hold.upstreamId !== null;
}

type RecordPrice = TextPrice | EmbeddingPrice;

/** How long a hold waits for prices that cannot be read. It ends within 15 minutes of its lease. */
const LATE_PRICES_MS = 10 * 60_000;

/**
 * The price of a record of the answer, which is the price that it was reserved at. `late` while the store does not
 * answer. Null if the price is lost: no record counts then.
 */
async function recordPrice(
  gateway: Gateway,
  hold: ReceiptRow,
  { snapshot, model }: AnswerDetail,
): Promise<RecordPrice | "late" | null> {
  if (!mayBeRecorded(gateway, hold)) return null;
  const { clock, log } = gateway.environment;
  let why = "they are not kept any more";
  try {
    const price = (await gateway.prices.byId(snapshot))?.get(model);
    if (price !== undefined) return price.kind === "text" || price.kind === "embedding" ? price : null;
  } catch (error) {
    why = String(error);
    const isLate = hold.state === "open" || clock.now() < hold.leaseUntil + LATE_PRICES_MS;
    if (isLate && !(error instanceof CatalogueError)) {
      log("warn", "record_unpriced", { request: hold.id, error: why });
      return "late";
    }
  }
  log("alert", "record_unpriced", { request: hold.id, error: why });
  return null;
}

type Recorded = { usage: TokenUsage; chargeNanoUsd: NanoUsd };

/** The usage that the provider recorded. Undefined while it has no record. */
async function recordedUsage(
  gateway: Gateway,
  hold: ReceiptRow,
  price: RecordPrice,
  records: Records,
): Promise<Recorded | undefined> {
  const usage = parseUsage(await records.usageOf(hold), affordable(price, hold.heldNanoUsd));
  if (usage === "malformed") {
    const alert = "the provider recorded a usage that cannot be";
    gateway.environment.log("alert", "usage", { request: hold.id, alert });
  }
  return typeof usage === "object" ? { usage, chargeNanoUsd: chargeForUsage(price, usage) } : undefined;
}

/** The tokens that a hold's amount pays for, which bounds a plausible usage. */
function affordable(price: RecordPrice, amountNanoUsd: NanoUsd): TokenBound {
  const tokensAt = (rate: AttoUsd): number =>
    rate === 0n ? Number.POSITIVE_INFINITY : Number(nanoUsdToAtto(amountNanoUsd) / rate);
  return price.kind === "embedding"
    ? { promptTokens: tokensAt(price.input), completionTokens: 0 }
    : { promptTokens: tokensAt(price.rates.input), completionTokens: tokensAt(price.rates.output) };
}

function sweptDetail(
  detail: AnswerDetail,
  basis: "record" | "checkpoint",
  usage: TokenUsage | null,
  { upstreamId }: ReceiptRow,
): ReceiptDetail {
  const why = "the request was cut off here";
  return { ...detail, basis, usage, upstreamId, cancelled: true, why };
}
