import type { ActivityTotal } from "@inference/sdk/spending";

/** The spending under one name. */
export type Sum = { name: string; nanoUsd: number; requests: number };

const DAY_MS = 86_400_000;

/**
 * The last days up to today, including days without spending. The gateway's clock dates the totals and may be a day
 * ahead, so the last total ends the list.
 */
export function byDay(totals: readonly ActivityTotal[], days: number, now = Date.now()): Sum[] {
  const sums = by(totals, ({ date }) => date ?? "");
  const dated = sums.map(({ name }) => Date.parse(name));
  const last = Math.max(Math.floor(now / DAY_MS) * DAY_MS, ...dated);
  const first = Math.min(last - (days - 1) * DAY_MS, ...dated);
  const names = Array.from({ length: (last - first) / DAY_MS + 1 }, (_, index) =>
    new Date(first + index * DAY_MS).toISOString().slice(0, 10),
  );
  return names.map((name) => sums.find((sum) => sum.name === name) ?? { name, nanoUsd: 0, requests: 0 });
}

/** The totals by name, the largest first. */
export function by(totals: readonly ActivityTotal[], nameOf: (total: ActivityTotal) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const total of totals) {
    const name = nameOf(total);
    const sum = sums.get(name) ?? { name, nanoUsd: 0, requests: 0 };
    sums.set(name, {
      name,
      nanoUsd: sum.nanoUsd + total.usage_nano_usd,
      requests: sum.requests + total.requests,
    });
  }
  return [...sums.values()].sort((one, other) => other.nanoUsd - one.nanoUsd);
}

/** The days that the balance lasts at the average of the last seven; null: nothing was spent. */
export function daysLeft(days: readonly Sum[], availableNanoUsd: number): number | null {
  const week = days.slice(-7).reduce((sum, { nanoUsd }) => sum + nanoUsd, 0);
  return week === 0 ? null : Math.floor((availableNanoUsd * 7) / week);
}
