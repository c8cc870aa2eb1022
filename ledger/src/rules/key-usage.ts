import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS, utcDay, windowStart } from "@inference/protocol/window";
import type { ReadRows } from "../rows/tables.ts";

export type KeyUsage = { dayNanoUsd: NanoUsd; monthNanoUsd: NanoUsd };

/** A key's charges in the UTC day and month of a time, by day of admission. Read from the totals. */
export function keyUsage(rows: ReadRows, keyId: string, atMs: number): KeyUsage {
  let dayNanoUsd = 0;
  let monthNanoUsd = 0;
  for (let day = windowStart("month", atMs); day <= atMs; day += DAY_MS) {
    dayNanoUsd = usageOfDay(rows, keyId, day);
    monthNanoUsd += dayNanoUsd;
  }
  return { dayNanoUsd, monthNanoUsd };
}

const ROWS_A_PAGE = 100;

/** A key's charges for requests admitted on the UTC day of a time. */
export function usageOfDay(rows: ReadRows, keyId: string, atMs: number): NanoUsd {
  // The ids of its totals are this, a space and the model, which may be empty, with or without a tag.
  const name = `${utcDay(atMs)} ${keyId}`;
  let sum = 0;
  let after = name;
  for (;;) {
    const page = rows.list("total", { after, limit: ROWS_A_PAGE });
    for (const { id, chargeNanoUsd } of page) {
      if (!id.startsWith(`${name} `)) return sum;
      sum += chargeNanoUsd;
      after = id;
    }
    if (page.length < ROWS_A_PAGE) return sum;
  }
}
