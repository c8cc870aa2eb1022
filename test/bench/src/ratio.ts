import { median } from "./percentile.ts";

/** One figure of one target in one round. */
export interface Reading {
  readonly target: string;
  readonly round: number;
  readonly value: number;
}

/**
 * The median over rounds of `target / against`, each divided within its own round: what else ran on the machine in that
 * minute slowed both. Rounds in which either is missing or useless (0, NaN) are left out; undefined if none is left.
 */
export function pairedRatio(readings: readonly Reading[], target: string, against: string): number | undefined {
  return overRounds(readings, target, against, (value, other) => value / other);
}

/** The same of `target - against`. */
export function pairedDifference(readings: readonly Reading[], target: string, against: string): number | undefined {
  return overRounds(readings, target, against, (value, other) => value - other);
}

function overRounds(
  readings: readonly Reading[],
  target: string,
  against: string,
  compare: (value: number, other: number) => number,
): number | undefined {
  const compared = readings
    .filter((reading) => reading.target === target)
    .flatMap(({ round, value }) => {
      const other = readings.find((reading) => reading.target === against && reading.round === round);
      return usable(value) && other !== undefined && usable(other.value) ? [compare(value, other.value)] : [];
    });
  return compared.length === 0 ? undefined : median(compared);
}

function usable(value: number): boolean {
  return Number.isFinite(value) && value > 0;
}
