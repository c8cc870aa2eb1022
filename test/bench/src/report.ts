import { flatAtMost, ledgerGoal, type RateGoal, verdict } from "./goals.ts";
import { flatness, type LedgerReading } from "./ledger-bench.ts";
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
    ...(unit === "event" ? ["first byte p50 ms", "p99 ms"] : []),
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
    ...(unit === "event" ? [shown(row.firstByteP50Ms, 1), shown(row.firstByteP99Ms, 1)] : []),
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
  rateGoals: readonly RateGoal[],
  { http, ledger }: { readonly http: readonly HttpRow[]; readonly ledger: readonly LedgerRow[] },
  ours: { readonly http: readonly string[]; readonly ledger: readonly string[] },
): string {
  const rates = ours.http.flatMap((target) =>
    rateGoals.map((goal) => {
      const row = http.find((one) => one.target === target && one.scenario === goal.scenario);
      const value = row?.against[goal.against]?.rate ?? undefined;
      return goalLine(`${target}: ${goal.scenario}, rate / ${goal.against}`, value, goal, 2);
    }),
  );
  const pairs = ours.ledger.flatMap((target) => {
    const row = ledger.find((one) => one.target === target && one.scenario === ledgerGoal.scenario);
    const p99 = row?.p99Ms ?? undefined;
    const p99Verdict = p99 === undefined ? "not measured" : p99 < ledgerGoal.p99Ms ? "reached" : "short of the goal";
    return [
      goalLine(`${target}: ${ledgerGoal.scenario}, pairs/s`, row?.pairsPerSecond, ledgerGoal, 0),
      [`${target}: p99 ms`, shown(p99, 1), `under ${ledgerGoal.p99Ms}`, "-", p99Verdict],
    ];
  });
  const lines = [...rates, ...pairs];
  return lines.length === 0 ? "" : table(["goal", "measured", "goal", "floor", "verdict"], lines);
}

function goalLine(
  name: string,
  value: number | undefined,
  goal: { goal: number; floor: number },
  digits: number,
): string[] {
  return [name, shown(value, digits), shown(goal.goal, digits), shown(goal.floor, digits), verdict(value, goal)];
}
