import { DAY_MS, utcDay } from "@inference/protocol/window";
import type { ActivityTotal, ListedReceipt } from "@inference/sdk/spending";
import { day } from "../format.ts";
import type { Bar, StackRow } from "../parts/stack.ts";

/** A range of time, in UTC, with a bar for each of its days or hours. */
export type Range = {
  /** UTC days, both included. */
  from: string;
  to: string;
  bars: Pick<Bar, "id" | "label" | "title">[];
  /** What a bar is. Totals are kept by day, so hours are added up from receipts. */
  by: "day" | "hour";
};

/** What was spent under the same bar, model, key and tag. */
export type SpendRow = {
  bar: string;
  model: string | null;
  keyId: string | null;
  tag: string | null;
  nanoUsd: number;
  requests: number;
};

export type RangeName = "24h" | "7d" | "30d" | "custom";
export type GroupName = "model" | "key" | "tag";

export const GROUPS: readonly (readonly [GroupName, string])[] = [
  ["model", "Model"],
  ["key", "Key"],
  ["tag", "Tag"],
];

/** Without the days that somebody enters. */
export const RANGES: readonly (readonly [RangeName, string])[] = [
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
];

const HOUR_MS = 3_600_000;
const hourOf = (time: string): string => time.slice(0, 13);

/**
 * The range of a name.
 *
 * @param now The gateway's time, which also dates the totals.
 * @param custom The days of `custom`. One day alone has bars for its hours.
 */
export function rangeOf(name: RangeName, now: string, custom: { from: string; to: string }): Range {
  const today = now.slice(0, 10);
  if (name === "24h") return hours(Date.parse(`${hourOf(now)}:00:00Z`) - 23 * HOUR_MS);
  if (name === "custom" && custom.from === custom.to) return hours(Date.parse(custom.from));
  const count = name === "7d" ? 7 : 30;
  const { from, to } =
    name === "custom" ? custom : { from: utcDay(Date.parse(today) - (count - 1) * DAY_MS), to: today };
  return { from, to, by: "day", bars: daysOf(from, to) };
}

function hours(firstMs: number): Range {
  const starts = Array.from({ length: 24 }, (_, index) => firstMs + index * HOUR_MS);
  const bars = starts.map((start) => {
    const label = new Date(start).toISOString().slice(11, 16);
    return { id: hourOf(new Date(start).toISOString()), label, title: `${day(start)}, from ${label}` };
  });
  return { from: utcDay(firstMs), to: utcDay(starts.at(-1) ?? firstMs), by: "hour", bars };
}

const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "UTC" });

function daysOf(from: string, to: string): Range["bars"] {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1;
  return Array.from({ length: Math.max(1, count) }, (_, index) => {
    const at = Date.parse(from) + index * DAY_MS;
    return { id: utcDay(at), label: day(at), title: `${WEEKDAY.format(at)} ${day(at)}` };
  });
}

/** The days that Home needs: the month so far, and the last 30 days. */
export function homeDays(now: string): { from: string; to: string } {
  const to = now.slice(0, 10);
  const first = utcDay(Date.parse(to) - 29 * DAY_MS);
  const month = `${to.slice(0, 8)}01`;
  return { from: first < month ? first : month, to };
}

export function rowsOfTotals(totals: readonly ActivityTotal[]): SpendRow[] {
  return totals.map(({ date = "", model = null, key_id = null, tag = null, usage_nano_usd: nanoUsd, requests }) => ({
    ...{ bar: date, model, keyId: key_id, tag, nanoUsd, requests },
  }));
}

/** A row for each receipt, with its hour. */
export function rowsOfReceipts(receipts: readonly ListedReceipt[]): SpendRow[] {
  return receipts.map(({ created_at: at, model, key_id: keyId, tag, charge_nano_usd: nanoUsd }) => ({
    ...{ bar: hourOf(at), model, keyId, tag, nanoUsd, requests: 1 },
  }));
}

export type Filter = { model?: string | undefined; key_id?: string | undefined; tag?: string | undefined };

/** The rows of a range that pass a filter. */
export function rowsIn(
  rows: readonly SpendRow[],
  { bars }: Range,
  { model, key_id: keyId, tag }: Filter = {},
): SpendRow[] {
  const ids = new Set(bars.map(({ id }) => id));
  return rows.filter(
    (row) =>
      ids.has(row.bar) &&
      (model === undefined || row.model === model) &&
      (keyId === undefined || row.keyId === keyId) &&
      (tag === undefined || row.tag === tag),
  );
}

/** @param nameOfKey A key's name by its id. */
export function grouped(
  rows: readonly SpendRow[],
  by: GroupName,
  nameOfKey: (id: string | null) => string,
): StackRow[] {
  const nameOf = ({ model, keyId, tag }: SpendRow): string =>
    by === "model" ? (model ?? "no model") : by === "key" ? nameOfKey(keyId) : (tag ?? "no tag");
  return rows.map((row) => ({ bar: row.bar, name: nameOf(row), nanoUsd: row.nanoUsd }));
}

export type Sums = { nanoUsd: number; requests: number };

export function sumOf(rows: readonly SpendRow[]): Sums {
  const [nanoUsd, requests] = rows.reduce(([sum, all], row) => [sum + row.nanoUsd, all + row.requests], [0, 0]);
  return { nanoUsd: nanoUsd ?? 0, requests: requests ?? 0 };
}

/** The days that a balance lasts at the average of the seven complete days before today; null: nothing was spent. */
export function daysLeft(rows: readonly SpendRow[], now: string, availableNanoUsd: number): number | null {
  const today = now.slice(0, 10);
  const first = utcDay(Date.parse(today) - 7 * DAY_MS);
  const week = sumOf(rows.filter(({ bar }) => bar >= first && bar < today)).nanoUsd;
  return week === 0 ? null : Math.floor((availableNanoUsd * 7) / week);
}
