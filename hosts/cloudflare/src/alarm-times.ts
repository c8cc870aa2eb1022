import { OUTCOME_RETENTION_MS } from "@inference/ledger/limits";
import {
  type AccountRow,
  type AllowanceRow,
  type BillRow,
  type Change,
  isHold,
  type ReceiptRow,
} from "@inference/ledger/tables";
import { lookAt, type OwnRows } from "./own-rows.ts";
import * as most from "./partition-limits.ts";

/** When the alarm is first needed for these changes, apart from deliveries. */
export function firstDue(changes: readonly Change[], now: number, forgetEveryMs: number): number {
  const times = changes.flatMap(({ table, row }) => {
    if (row === null) return [];
    if (table === "receipt") return isHold(row as ReceiptRow) ? [lookAt(row as ReceiptRow)] : [];
    if (table !== "bill" && table !== "allowance" && table !== "account") return [];
    const { dueAt } = row as BillRow | AllowanceRow | AccountRow;
    return dueAt == null ? [] : [Math.max(now, dueAt) + 1];
  });
  return Math.min(now + OUTCOME_RETENTION_MS + forgetEveryMs, ...times);
}

/** When the alarm is needed for the rows that are stored, apart from those that are to be forgotten. */
export function nextDue(rows: OwnRows, now: number): number[] {
  const due: number[] = [];
  // An acknowledgement that is not committed would be lost, and its delivery repeated when the object wakes.
  if (rows.undelivered() > 0 || rows.hasAcknowledged()) due.push(now + most.DELIVER_AGAIN_MS);
  const look = rows.firstLook();
  // A lapsed hold stays while its prices or the chain cannot be read, or if the ledger did not answer.
  if (rows.lapsedHolds(now, 1).length > 0) due.push(now + most.SWEEP_AGAIN_MS);
  else if (look !== undefined) due.push(look);
  // A failed step is tried again.
  for (const table of ["allowance", "bill", "account"] as const) {
    const dueAt = rows.dueAt(table);
    if (dueAt !== undefined) due.push(dueAt < now ? now + most.SWEEP_AGAIN_MS : dueAt + 1);
  }
  return due;
}
