type WindowRule = {
  /** The value of `limit_reset` in the API for a key's limit over this window; null: there is none. */
  limitReset: string | null;
  start(atMs: number): number;
  /** Null: the window does not end. */
  end(startMs: number): number | null;
};

/** The windows that a budget can have, all in UTC. A window is identified by its start, in ms since the epoch. */
const rules = {
  minute: { limitReset: null, start: (at) => at - (at % MINUTE_MS), end: (start) => start + MINUTE_MS },
  day: { limitReset: "daily", start: (at) => at - (at % DAY_MS), end: (start) => start + DAY_MS },
  month: { limitReset: "monthly", start: (at) => monthStart(at, 0), end: (start) => monthStart(start, 1) },
  lifetime: { limitReset: null, start: () => 0, end: () => null },
} as const satisfies Record<string, WindowRule>;

export type Window = keyof typeof rules;
/** The windows of limits in dollars. A minute is one of requests and tokens. */
export type DollarWindow = Exclude<Window, "minute">;
export type LimitReset = NonNullable<(typeof rules)[Window]["limitReset"]>;

export const windows = Object.keys(rules) as Window[];
export const dollarWindows = windows.filter((window) => window !== "minute");
export const limitResets = dollarWindows.map(limitResetOf).filter((reset) => reset !== null);

export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** The start of the window at `atMs`; 0 for a lifetime. */
export function windowStart(window: Window, atMs: number): number {
  return rules[window].start(atMs);
}

/** The end of the window at `atMs`, when its budget resets; null for a lifetime. */
export function windowEnd(window: Window, atMs: number): number | null {
  return rules[window].end(windowStart(window, atMs));
}

/** How `limit_reset` names a window; null for a lifetime. */
export function limitResetOf(window: DollarWindow): LimitReset | null {
  return rules[window].limitReset;
}

/** The window of a `limit_reset`; undefined for any other text. */
export function windowOfReset(text: string): DollarWindow | undefined {
  return dollarWindows.find((window) => limitResetOf(window) === text);
}

function monthStart(atMs: number, months: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1);
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
