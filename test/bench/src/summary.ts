import type { HttpReading } from "./http-bench.ts";
import { median } from "./percentile.ts";
import { pairedDifference, pairedRatio } from "./ratio.ts";

/** The target without anything between client and upstream. */
export const DIRECT = "direct";

/** One target under one scenario over all rounds: medians, and ratios paired by round. */
export interface HttpRow {
  readonly scenario: string;
  readonly target: string;
  readonly rounds: number;
  readonly rate: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly firstByteP50Ms: number | null;
  readonly firstByteP99Ms: number | null;
  /** The target's p50 minus the upstream's own in the same rounds, for whole answers and for the first byte. */
  readonly addedP50Ms: number | null;
  readonly addedFirstByteP50Ms: number | null;
  readonly cpuUs: number | null;
  readonly targetCores: number | null;
  readonly upstreamCores: number | null;
  /** Multiples of another target's figures in the same rounds. */
  readonly against: Readonly<Record<string, AgainstRatios>>;
  readonly errors: number;
}

export interface AgainstRatios {
  readonly rate: number | null;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly cpu: number | null;
}

export function httpRows(readings: readonly HttpReading[], against: readonly string[]): HttpRow[] {
  return grouped(readings, (reading) => [reading.scenario, reading.target]).map((group) => {
    const first = group[0];
    const same = readings.filter(({ scenario }) => scenario === first.scenario);
    const middle = (value: (reading: HttpReading) => number | null) => medianOf(group.map(value));
    const of = (value: (reading: HttpReading) => number | null) =>
      same.map((reading) => ({ ...reading, value: value(reading) ?? Number.NaN }));
    const ratio = (other: string, value: (reading: HttpReading) => number | null) =>
      pairedRatio(of(value), first.target, other) ?? null;
    const added = (value: (reading: HttpReading) => number | null) =>
      pairedDifference(of(value), first.target, DIRECT) ?? null;
    return {
      scenario: first.scenario,
      target: first.target,
      rounds: group.length,
      rate: middle(({ rate }) => rate) ?? 0,
      p50Ms: middle(({ load }) => load.p50Ms),
      p99Ms: middle(({ load }) => load.p99Ms),
      firstByteP50Ms: middle(({ load }) => load.firstByteP50Ms),
      firstByteP99Ms: middle(({ load }) => load.firstByteP99Ms),
      addedP50Ms: added(({ load }) => load.p50Ms),
      addedFirstByteP50Ms: added(({ load }) => load.firstByteP50Ms),
      cpuUs: middle(({ cpuUs }) => cpuUs),
      targetCores: middle(({ targetCores }) => targetCores),
      upstreamCores: middle(({ upstreamCores }) => upstreamCores),
      against: Object.fromEntries(
        against.map((other) => [
          other,
          {
            rate: ratio(other, ({ rate }) => rate),
            p50: ratio(other, ({ load }) => load.p50Ms),
            p99: ratio(other, ({ load }) => load.p99Ms),
            cpu: ratio(other, ({ cpuUs }) => cpuUs),
          },
        ]),
      ),
      errors: group.reduce((sum, { load }) => sum + load.errors + load.unfinished, 0),
    };
  });
}

function medianOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : median(known);
}

function grouped<T>(all: readonly T[], key: (one: T) => readonly string[]): [T, ...T[]][] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const one of all) {
    const name = JSON.stringify(key(one));
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}
