/** What a figure of ours should reach, and what it may not fall below. */
export interface Goal {
  readonly goal: number;
  readonly floor: number;
}

/** A ratio of rates, ours to theirs, at the number of connections the goals are set for. */
export interface RateGoal extends Goal {
  readonly scenario: string;
  readonly against: string;
}

export const nodeGoals: readonly RateGoal[] = [
  { scenario: "buffered, 256 connections", against: "bare proxy", goal: 0.6, floor: 0.4 },
  { scenario: "buffered, 256 connections", against: "Portkey", goal: 6, floor: 3 },
  { scenario: "streaming, 200 streams of 200 events", against: "bare proxy", goal: 0.7, floor: 0.4 },
  { scenario: "streaming, 200 streams of 200 events", against: "Portkey", goal: 3, floor: 3 },
];

export const edgeGoals: readonly RateGoal[] = [
  { scenario: "buffered, 32 connections", against: "bare Worker", goal: 0.5, floor: 0.5 },
  { scenario: "buffered, 32 connections", against: "Portkey Worker", goal: 1, floor: 1 },
  { scenario: "streaming, 200 streams of 200 events", against: "bare Worker", goal: 0.5, floor: 0.5 },
  { scenario: "streaming, 200 streams of 200 events", against: "Portkey Worker", goal: 1, floor: 1 },
];

/** Durable pairs a second; with them goes a p99 below this many milliseconds. */
export const ledgerGoal = { scenario: "256 clients, 1,000 accounts, FULL", goal: 20_000, floor: 8_000, p99Ms: 20 };

/** How many times what the cheaper end costs the dearer may and still be called flat: a deeper index is not free. */
export const flatAtMost = 1.5;

export type Verdict = "reached" | "short of the goal" | "below the floor" | "not measured";

export function verdict(value: number | undefined, { goal, floor }: Goal): Verdict {
  if (value === undefined || Number.isNaN(value)) return "not measured";
  if (value >= goal) return "reached";
  return value >= floor ? "short of the goal" : "below the floor";
}
