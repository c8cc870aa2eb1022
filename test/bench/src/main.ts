import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { costBench } from "./cloudflare/cost-bench.ts";
import { costReport } from "./cloudflare/cost-report.ts";
import { type Comparison, comparisons } from "./comparisons.ts";
import { httpBench } from "./http-bench.ts";
import { ledgerBench } from "./ledger-bench.ts";
import { here, ledgerSlices, sliceReport } from "./ledger-slices.ts";
import { neighboursBench } from "./neighbours.ts";
import { goalReport, httpReport, ledgerReport } from "./report.ts";
import { DIRECT, httpRows, ledgerRows } from "./summary.ts";
import type { Target } from "./target.ts";

/** The name of our ledger's slices among the scenarios. */
const SLICES = "ledger, in slices";

const usage = `npm run bench -- [options]
  --host <name>    node; cloudflare: on local workerd, and what a million requests cost there; translation: the
                   gateway on Node, asked for the same streams by each of its APIs; or neighbours: a paying customer
                   beside hostile clients of each kind (node)
  --rounds <n>     rounds, each with every target once in every scenario (node 9, cloudflare 3, translation 7)
  --seconds <n>    measured seconds of each run (node 1, cloudflare 3, translation 5)
  --only <words>   only scenarios and targets whose name holds one of these, comma-separated: buffered, streaming,
                   ledger, sqlite, nginx, portkey, gateway, cost, ... The bare and the direct one always run: others
                   are compared with them
  --connections <n>  hostile connections of neighbours (200)
  --quick          few and short rounds: to see that it works, not to quote`;

const { values } = parseArgs({
  options: {
    host: { type: "string", default: "node" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    only: { type: "string" },
    connections: { type: "string" },
    quick: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) say(usage);
else if (values.host === "neighbours") await neighbours();
else await main();

/** A process that measures nothing but hostile neighbours. Its exit code is 1 if a customer waited too long. */
async function neighbours(): Promise<void> {
  const forMs = 1_000 * positive("--seconds", values.seconds, values.quick ? 1 : 5);
  const connections = positive("--connections", values.connections, 200);
  const only = values.only?.toLowerCase().split(",") ?? [];
  const table = await neighboursBench({ connections, forMs, only, say });
  process.stdout.write(`\n${table}\n`);
}

async function main(): Promise<void> {
  const comparison = comparisons[values.host];
  if (comparison === undefined) throw new Error(`--host takes ${Object.keys(comparisons).join(" or ")}`);
  const usual = values.quick ? comparison.quick : comparison.usual;
  const rounds = positive("--rounds", values.rounds, usual.rounds);
  const seconds = positive("--seconds", values.seconds, usual.seconds);
  const warmupSeconds = Math.min(2, seconds / 2);
  const plan = select(comparison, values.only?.toLowerCase().split(",") ?? []);
  const startedAt = new Date().toISOString();
  const load = loadavg();
  const available = await present(plan.targets);
  const against = comparison.against.filter((name) => available.some((target) => target.name === name));

  const pace = { rounds, seconds, warmupSeconds, say };
  const http = plan.scenarios.length === 0 ? [] : await httpBench({ ...pace, ...plan, targets: available });
  const ledger = await ledgerBench({ ...pace, targets: plan.ledgerTargets, scenarios: plan.ledgerScenarios });
  const slices = plan.slices
    ? await ledgerSlices({ folders: [here], slices: rounds, ms: 1_000, accounts: 1_000, past: 0, only: [""], say })
    : [];
  const cost = plan.cost ? await costBench({ size: usual.costAccounts, say }) : null;

  const rows = { http: httpRows(http, against), ledger: ledgerRows(ledger), slices };
  const ours = available.filter(({ ours, name }) => ours && rows.http.some(({ target }) => target === name));
  const machine = {
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? "unknown",
    node: process.version,
    undici: await undiciVersion(),
    loadAverageBefore: load[0],
  };
  const results = { startedAt, machine, rounds, seconds, warmupSeconds, rows, cost, readings: { http, ledger } };
  const directory = new URL("../results/", import.meta.url);
  await mkdir(directory, { recursive: true });
  await writeFile(new URL(comparison.file, directory), `${JSON.stringify(results, null, 2)}\n`);

  const parts = [
    `${machine.processors} processors (${machine.model}), Node ${machine.node}, medians of ${rounds} rounds of ${seconds} s, load average before ${load[0]?.toFixed(2) ?? "unknown"}`,
    ...(rows.http.length === 0 ? [] : [httpReport(rows.http, against)]),
    ...(rows.ledger.length === 0 ? [] : [ledgerReport(rows.ledger, ledger)]),
    ...(slices.length === 0 ? [] : [sliceReport(slices)]),
    ...(cost === null ? [] : [costReport(cost)]),
    goalReport(comparison.goals, rows, ours),
  ];
  process.stdout.write(`\n${parts.filter(Boolean).join("\n\n")}\n`);
}

/**
 * A word chooses among scenarios if it is in the name of one, else among targets. Where none chooses a scenario,
 * every one that the chosen targets take part in runs; where none chooses a target, every target does.
 */
function select(comparison: Comparison, words: readonly string[]) {
  const { scenarios, targets, bare, ledgerScenarios, ledgerTargets } = comparison;
  const ledgerName = (name: string) => `ledger ${name}`.toLowerCase();
  const scenarioNames = [
    ...scenarios.map(({ name }) => name.toLowerCase()),
    ...ledgerScenarios.map(({ name }) => ledgerName(name)),
    ...(comparison.slices ? [SLICES] : []),
    ...(comparison.cost ? ["cost"] : []),
  ];
  const targetNames = [...targets, ...ledgerTargets].map(({ name }) => name.toLowerCase());
  const isIn = (names: readonly string[]) => (word: string) => names.some((name) => name.includes(word));
  const scenarioWords = words.filter(isIn(scenarioNames));
  const targetWords = words.filter((word) => !scenarioWords.includes(word));
  const stray = targetWords.find((word) => !isIn(targetNames)(word));
  if (stray !== undefined) throw new Error(`--only: nothing is called ${stray}`);

  const named = (name: string) => targetWords.some((word) => name.toLowerCase().includes(word));
  const http = targets.filter(({ name }) => named(name));
  const ledgers = ledgerTargets.filter(({ name }) => named(name));
  const takesPart = (chosen: readonly unknown[]) => targetWords.length === 0 || chosen.length > 0;
  const runs = (name: string, chosen: readonly unknown[]) =>
    scenarioWords.length === 0 ? takesPart(chosen) : scenarioWords.some((word) => name.includes(word));
  const always = targets.filter((target) => target === bare || target.name === DIRECT);
  return {
    scenarios: scenarios.filter(({ name }) => runs(name.toLowerCase(), http)),
    ledgerScenarios: ledgerScenarios.filter(({ name }) => runs(ledgerName(name), ledgers)),
    targets: http.length === 0 ? targets : [...always, ...http.filter((target) => !always.includes(target))],
    ledgerTargets: ledgers.length === 0 ? ledgerTargets : ledgers,
    slices: comparison.slices && runs(SLICES, []),
    cost: comparison.cost && runs("cost", []),
  };
}

async function present(wanted: readonly Target[]): Promise<Target[]> {
  const found: Target[] = [];
  for (const target of wanted) {
    const missing = await target.missing();
    if (missing === undefined) found.push(target);
    else say(`left out: ${target.name}: ${missing}`);
  }
  return found;
}

async function undiciVersion(): Promise<string> {
  const text = await readFile(new URL(import.meta.resolve("undici/package.json")), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}

function positive(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(Number.isFinite(value) && value > 0)) throw new Error(`${flag} takes a positive number, not ${text}`);
  return value;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
