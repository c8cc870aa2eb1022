/** The windows a budget can have, all in UTC. A window is identified by its start, in ms since the epoch. */
export const windows = ["day", "month", "lifetime"] as const;
export type Window = (typeof windows)[number];

export const DAY_MS = 86_400_000;

/** The start of the window at `atMs`; 0 for a lifetime. */
export function windowStart(window: Window, atMs: number): number {
  if (window === "lifetime") return 0;
  if (window === "day") return atMs - (atMs % DAY_MS);
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1);
}

/** The end of the window at `atMs`, when its budget resets; null for a lifetime. */
export function windowEnd(window: Window, atMs: number): number | null {
  if (window === "lifetime") return null;
  if (window === "day") return windowStart("day", atMs) + DAY_MS;
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
}

let lastDay = { start: 0, name: "1970-01-01" };

/** `2026-11-21`, the name of a UTC day. */
export function utcDay(atMs: number): string {
  const start = windowStart("day", atMs);
  if (lastDay.start !== start) lastDay = { start, name: new Date(start).toISOString().slice(0, 10) };
  return lastDay.name;
}

/** A UTC day as the settlement contract counts it: days since 1970. */
export function dayNumber(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}
