import { flatAtMost, type Goal, type HttpGoal, sliceGoals, verdict } from "./goals.ts";
import { flatness, type LedgerReading } from "./ledger-bench.ts";
import type { SliceRow } from "./ledger-slices.ts";
import { costGrowth, type HttpRow, type LedgerRow } from "./summary.ts";
import { shown, table } from "./table.ts";

export function httpReport(rows: readonly HttpRow[], against: readonly string[]): string {
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))];
  return scenarios
    .map((scenario) => rows.filter((row) => row.scenario === scenario))
    .map((same) => `${figures(same)}\n\n${ratios(same, against)}`)
    .join("\n\n");
}

function figures(rows: readonly HttpRow[]): string {
  const scenario = rows[0]?.scenario ?? "";
  const unit = scenario.startsWith("streaming") ? "event" : "request";
  const head = [
    scenario,
    `${unit}s/s`,
    "p50 ms",
    "p99 ms",
    "added p50 ms",
    ...(unit === "event" ? ["first byte p50 ms", "p99 ms", "added p50 ms"] : []),
    `CPU us/${unit}`,
    "cores",
    "upstream cores",
    "errors",
  ];
  const lines = rows.map((row) => [
    row.target,
    shown(row.rate),
    shown(row.p50Ms, 1),
    shown(row.p99Ms, 1),
    shown(row.addedP50Ms, 2),
    ...(unit === "event"
      ? [shown(row.firstByteP50Ms, 1), shown(row.firstByteP99Ms, 1), shown(row.addedFirstByteP50Ms, 2)]
      : []),
    shown(row.cpuUs, 1),
    shown(row.targetCores, 2),
    shown(row.upstreamCores, 2),
    shown(row.errors),
  ]);
  return table(head, lines);
}

function ratios(rows: readonly HttpRow[], against: readonly string[]): string {
  const head = ["ratios", ...against.flatMap((other) => ["rate", "p50", "p99", "CPU"].map((of) => `${of} / ${other}`))];
  const lines = rows.map((row) => [
    row.target,
    ...against.flatMap((other) => {
      const ratio = row.against[other];
      return [ratio?.rate, ratio?.p50, ratio?.p99, ratio?.cpu].map((value) => shown(value, 2));
    }),
  ]);
  return table(head, lines);
}

export function ledgerReport(rows: readonly LedgerRow[], readings: readonly LedgerReading[]): string {
  const head = ["ledger", "pairs/s", "p50 ms", "p99 ms", "CPU us/pair", "fsyncs", "fsyncs/pair", "counted by"];
  const lines = rows.map((row) => [
    `${row.target}: ${row.scenario}`,
    shown(row.pairsPerSecond),
    shown(row.p50Ms, 1),
    shown(row.p99Ms, 1),
    shown(row.cpuUsPerPair, 1),
    shown(row.fsyncs),
    shown(row.fsyncsPerPair, 4),
    row.fsyncsBy ?? "not measured",
  ]);
  const growth = [...new Set(rows.map(({ target }) => target))].flatMap((target) =>
    flatness.flatMap((pair) => {
      const times = costGrowth(readings, target, pair);
      if (times === undefined) return [];
      return [[`${target}: ${pair[0]} -> ${pair[1]}`, shown(times, 2), times <= flatAtMost ? "flat" : "not flat"]];
    }),
  );
  if (growth.length === 0) return table(head, lines);
  return `${table(head, lines)}\n\n${table(["processor time of a pair", "times", `at most ${flatAtMost}`], growth)}`;
}

/** How each of ours stands to the goals; empty if none of ours ran. */
export function goalReport(
  goals: readonly HttpGoal[],
  { http, slices }: { readonly http: readonly HttpRow[]; readonly slices: readonly SliceRow[] },
  ours: readonly { readonly name: string }[],
): string {
  const ofHttp = ours.flatMap(({ name }) =>
    goals.map((goal) => {
      const row = http.find(({ target, scenario }) => target === name && scenario === goal.scenario);
      const value = row === undefined ? undefined : goal.figure(row);
      return goalLine(`${name}: ${goal.scenario}, ${goal.name}`, value, goal, 2);
    }),
  );
  const ofSlices = slices.flatMap(({ load, medians }) =>
    sliceGoals
      .filter((goal) => goal.load === load)
      .map((goal) => goalLine(`our ledger: ${load}, ${goal.name}`, medians[goal.figure], goal, 1)),
  );
  const lines = [...ofHttp, ...ofSlices];
  return lines.length === 0 ? "" : table(["goal", "measured", "goal", "floor", "verdict"], lines);
}

function goalLine(name: string, value: number | null | undefined, goal: Goal, digits: number): string[] {
  const { goal: aim, floor } = goal;
  return [name, shown(value, digits), shown(aim, digits), shown(floor, digits), verdict(value ?? undefined, goal)];
}
