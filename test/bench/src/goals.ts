import type { HttpRow } from "./summary.ts";

/** The aim of a figure, and its limit. Less is better where the goal is below the floor. */
export interface Goal {
  readonly goal: number;
  readonly floor: number;
}

/** A figure of a row of the report. */
export interface HttpGoal extends Goal {
  readonly scenario: string;
  readonly name: string;
  figure(row: HttpRow): number | null | undefined;
}

const against = (other: string, figure: "rate" | "cpu") => ({
  name: `${figure === "cpu" ? "CPU" : figure} / ${other}`,
  figure: (row: HttpRow) => row.against[other]?.[figure],
});
const added = { name: "added p50 ms", figure: (row: HttpRow) => row.addedP50Ms };
const addedFirstByte = { name: "added p50 of the first byte, ms", figure: (row: HttpRow) => row.addedFirstByteP50Ms };

export const goals: readonly HttpGoal[] = [
  { scenario: "buffered, 256 connections", ...against("bare proxy", "cpu"), goal: 2.3, floor: 2.7 },
  { scenario: "buffered, 256 connections, a prompt of 20 kB", ...against("bare proxy", "cpu"), goal: 3.5, floor: 4 },
  { scenario: "streaming, an event every 20 ms", ...against("bare proxy", "cpu"), goal: 1.35, floor: 1.5 },
  { scenario: "buffered, 1 connection", ...added, goal: 1, floor: 1.2 },
  { scenario: "streaming, 1 stream of 200 events", ...addedFirstByte, goal: 1.8, floor: 2.2 },
  { scenario: "buffered, 256 connections", ...against("Portkey", "rate"), goal: 4, floor: 4 },
  { scenario: "streaming, 200 streams of 200 events", ...against("Portkey", "rate"), goal: 1, floor: 1 },
];

export type Verdict = "reached" | "short of the goal" | "past the floor" | "not measured";

export function verdict(value: number | undefined, { goal, floor }: Goal): Verdict {
  if (value === undefined || Number.isNaN(value)) return "not measured";
  const reaches = (limit: number) => (goal < floor ? value <= limit : value >= limit);
  if (reaches(goal)) return "reached";
  return reaches(floor) ? "short of the goal" : "past the floor";
}
