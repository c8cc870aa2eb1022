import type { DatabaseSync } from "node:sqlite";
import { makeRequestId } from "@inference/protocol/id";
import { assertNanoUsd, type NanoUsd } from "@inference/protocol/money";
import { DAY_MS } from "@inference/protocol/window";

/** The charges of all accounts for requests that were admitted on a day, added up a page at a time. */
export type Charges = {
  /** Adds a page. False once there is none left. */
  next(): boolean;
  sumNanoUsd(): NanoUsd;
};

const ROWS_A_PAGE = 10_000;
/** A request's id is made some time before it is admitted. */
const MARGIN_MS = 3_600_000;

/** Receipts are in the order of their ids, and those in the order of time: no others are read. */
export function openCharges(database: DatabaseSync, dayStart: number): Charges {
  const page = database.prepare(
    `SELECT count(*) AS rows, max(id) AS last, sum(charge_nano_usd) FILTER (
       WHERE admitted_at >= ? AND admitted_at < ? AND partition >= 'account:' AND partition < 'account;'
     ) AS charged FROM (SELECT * FROM receipt_row WHERE id > ? AND id < ? ORDER BY id LIMIT ${ROWS_A_PAGE})`,
  );
  let after = makeRequestId(Math.max(0, dayStart - MARGIN_MS), new Uint8Array(10));
  const end = makeRequestId(dayStart + DAY_MS + MARGIN_MS, new Uint8Array(10));
  let sum = 0;
  return {
    next() {
      const { rows, last, charged } = page.get(dayStart, dayStart + DAY_MS, after, end) ?? {};
      sum = assertNanoUsd(sum + Number(charged ?? 0), "what accounts were charged on a day");
      after = String(last);
      return rows === ROWS_A_PAGE;
    },
    sumNanoUsd: () => sum,
  };
}
