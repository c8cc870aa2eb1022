import type { LapsedHold } from "@inference/ledger/client";
import { askOwner } from "@inference/ledger/follower";
import { send } from "@inference/ledger/saga";
import type { HoldRow } from "@inference/ledger/tables";
import type { NanoUsd } from "@inference/protocol/money";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import { chargeForUsage } from "../metering/charge.ts";
import type { TokenUsage } from "../metering/quote.ts";
import { parseUsage } from "../metering/usage.ts";
import type { HoldDetail, ReceiptDetail } from "./exchange.ts";

/**
 * Ends the holds that nobody is working on any more. A lapsed hold is orphaned first; then it is settled with the
 * provider's own record of the request if there is one in time, else with what its last checkpoint proves, else
 * released. A follower's hold ends as its owner says. Answers how many holds it looked at.
 */
export async function sweep(gateway: Gateway, graceMs: number = limits.orphanGraceMs): Promise<number> {
  const { clock, ledger, log } = gateway.environment;
  const lapsed = await ledger.lapsedHolds(clock.now(), MAX_HOLDS_A_SWEEP);
  for (const entry of lapsed) {
    try {
      await sweepHold(gateway, entry, graceMs);
    } catch (error) {
      log("alert", "sweep_failed", { request: entry.hold.id, error: String(error) });
    }
  }
  return lapsed.length;
}

/** Orphans holds at once, whatever their lease: those of a process that is known to be gone. */
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

const MAX_HOLDS_A_SWEEP = 256;
const RECORD_MS = 10_000;

async function sweepHold(gateway: Gateway, { partition, hold }: LapsedHold, graceMs: number): Promise<void> {
  const { clock, ledger } = gateway.environment;
  const at = clock.now();
  if (hold.owner !== partition) {
    await ledger.run(() => askOwner(partition, hold, at));
    return;
  }
  const detail = readDetail(hold.detail);
  const recorded = await recordedUsage(gateway, hold, detail);
  if (hold.state === "open" && recorded === undefined && mayBeRecorded(gateway, hold)) {
    // The provider may write its record late: ask again until the grace is over, while nothing is charged.
    await ledger.run(() => send(partition, { type: "orphan", id: hold.id, at, graceMs }));
    return;
  }
  const bill = recorded?.chargeNanoUsd ?? hold.deliveredNanoUsd;
  const basis = recorded === undefined ? "checkpoint" : "record";
  const chargeNanoUsd = Math.min(bill, hold.amountNanoUsd);
  const lossNanoUsd = bill - chargeNanoUsd;
  const receipt = JSON.stringify(receiptDetail(detail, basis, recorded?.usage ?? null, hold.upstreamId));
  await ledger.run(
    function* () {
      return chargeNanoUsd > 0
        ? yield* send(partition, { type: "settle", id: hold.id, at, chargeNanoUsd, lossNanoUsd, detail: receipt })
        : yield* send(partition, { type: "release", id: hold.id, at, lossNanoUsd, detail: receipt });
    },
    { untilDurable: true },
  );
}

function mayBeRecorded(gateway: Gateway, hold: HoldRow): boolean {
  return gateway.config.upstream.recordUrl !== null && hold.upstreamId !== null;
}

type Recorded = { usage: TokenUsage; chargeNanoUsd: NanoUsd };

/** What the provider says the answer used, at the prices it was reserved at. Undefined while it says nothing. */
async function recordedUsage(
  gateway: Gateway,
  { upstreamId, admittedAt }: HoldRow,
  detail: HoldDetail,
): Promise<Recorded | undefined> {
  if (upstreamId === null) return undefined;
  const price = (await gateway.prices.byId(detail.snapshot))?.models.get(detail.model)?.price;
  if (price === undefined || (price.kind !== "text" && price.kind !== "embedding")) return undefined;
  const text = await readRecord(gateway, { upstreamId, admittedAt });
  const usage = text === null ? "missing" : parseUsage(usageInRecord(text, upstreamId));
  return typeof usage === "object" ? { usage, chargeNanoUsd: chargeForUsage(price, usage) } : undefined;
}

async function readRecord(
  gateway: Gateway,
  answer: { upstreamId: string; admittedAt: number },
): Promise<string | null> {
  const abort = new AbortController();
  const timer = gateway.environment.timers.after(RECORD_MS, () => abort.abort());
  try {
    return await gateway.provider.record(answer, abort.signal);
  } catch {
    // Not to be had: what the checkpoint proves decides.
    return null;
  } finally {
    timer.cancel();
  }
}

/**
 * The token counts in a provider's record: `{data: {tokens_prompt, tokens_completion}}` (a generation record), or rows
 * `{data: [{inferenceDetails: {requestId, promptTokens, completionTokens}}]}` (a usage history).
 */
function usageInRecord(text: string, upstreamId: string): unknown {
  const record = JSON.parse(text) as { data?: unknown };
  const rows = Array.isArray(record.data) ? record.data : [record.data];
  for (const row of rows as (Record<string, unknown> | undefined)[]) {
    const history = row?.inferenceDetails as Record<string, unknown> | null | undefined;
    if (history?.requestId === upstreamId) {
      return { prompt_tokens: history.promptTokens, completion_tokens: history.completionTokens };
    }
    if (row?.id === upstreamId) {
      return {
        prompt_tokens: row.native_tokens_prompt ?? row.tokens_prompt,
        prompt_tokens_details: { cached_tokens: row.native_tokens_cached ?? 0 },
        completion_tokens: row.native_tokens_completion ?? row.tokens_completion,
      };
    }
  }
  return undefined;
}

function readDetail(text: string): HoldDetail {
  const { route, model, snapshot, stream } = JSON.parse(text) as HoldDetail;
  return { route, model, snapshot, stream };
}

function receiptDetail(
  detail: HoldDetail,
  basis: "record" | "checkpoint",
  usage: TokenUsage | null,
  upstreamId: string | null,
): ReceiptDetail {
  return { ...detail, basis, usage, upstreamId, cancelled: true, why: "the request was cut off here" };
}
