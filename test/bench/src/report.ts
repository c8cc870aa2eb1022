import { goals, verdict } from "./goals.ts";
import type { HttpRow } from "./summary.ts";
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

/** The gateway's figures against the goals; empty if it did not run. */
export function goalReport(rows: readonly HttpRow[]): string {
  const ours = rows.filter(({ target }) => target === "gateway");
  const lines = goals.map((goal) => {
    const row = ours.find(({ scenario }) => scenario === goal.scenario);
    const value = row === undefined ? undefined : (goal.figure(row) ?? undefined);
    const label = `${goal.scenario}, ${goal.name}`;
    return [label, shown(value, 2), shown(goal.goal, 2), shown(goal.floor, 2), verdict(value, goal)];
  });
  return ours.length === 0 ? "" : table(["goal", "measured", "goal", "floor", "verdict"], lines);
}
