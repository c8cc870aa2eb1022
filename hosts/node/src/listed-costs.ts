import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { makeRequestId } from "@inference/protocol/id";
import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS } from "@inference/protocol/window";
import type { NodeLedger } from "./ledger.ts";

/** Receipts of one query. Requests are served between two of them. */
const PAGE = 2_000;

/**
 * The cost at list prices of the requests that were admitted on a UTC day, of all accounts and identities: the charges
 * and the losses of their receipts. Null: receipts of the day may have been forgotten.
 *
 * @param receiptMs How long receipts are kept.
 */
export function listedOnDays(
  database: DatabaseSync,
  { ledger, now, receiptMs }: { ledger: Pick<NodeLedger, "flush">; now(): number; receiptMs: number },
): (day: string) => Promise<NanoUsd | null> {
  const select = database.prepare(`SELECT count(*) AS receipts, max(id) AS last, total(cost) AS cost FROM (
    SELECT id, charge_nano_usd + loss_nano_usd AS cost FROM receipt_row WHERE id > ? AND id < ? ORDER BY id LIMIT ?)`);
  return async (day) => {
    const startMs = Date.parse(day);
    if (startMs < now() - receiptMs) return null;
    await ledger.flush();
    let after = firstId(startMs);
    let sumNanoUsd = 0;
    for (;;) {
      const { receipts, last, cost } = select.get(after, firstId(startMs + DAY_MS), PAGE) ?? {};
      sumNanoUsd += Number(cost);
      if (Number(receipts) < PAGE) return sumNanoUsd;
      after = String(last);
      await nextTurn();
    }
  };
}

/** No request of the time has a lower id. */
function firstId(atMs: number): string {
  return makeRequestId(atMs, new Uint8Array(10));
}
