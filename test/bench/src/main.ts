import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { costBench } from "./cloudflare/cost-bench.ts";
import { costReport } from "./cloudflare/cost-report.ts";
import { type Comparison, comparisons } from "./comparisons.ts";
import { httpBench } from "./http-bench.ts";
import { neighboursBench } from "./neighbours.ts";
import { goalReport, httpReport } from "./report.ts";
import { DIRECT, httpRows } from "./summary.ts";
import type { Target } from "./target.ts";

const usage = `npm run bench -- [options]
  --host <name>    node; cloudflare: on local workerd, with the cost of a million requests there; translation: the
                   same streams from the gateway on Node by each of its APIs; or neighbours: a paying customer beside
                   hostile clients of each kind (node)
  --rounds <n>     rounds, each with every target once in every scenario (node 9, cloudflare 3, translation 7)
  --seconds <n>    measured seconds of each run (node 1, cloudflare 3, translation 5)
  --only <words>   only scenarios and targets with one of these words in their name, comma-separated: buffered,
                   streaming, nginx, portkey, gateway, cost, ... The bare and the direct target always run
  --connections <n>  hostile connections of neighbours (200)
  --quick          few and short rounds, for a first look`;

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

/** Measures hostile neighbours only. The exit code is 1 if a customer waited too long. */
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
  const cost = plan.cost ? await costBench({ size: usual.costAccounts, say }) : null;

  const rows = httpRows(http, against);
  const ours = available.filter(({ ours, name }) => ours && rows.some(({ target }) => target === name));
  const machine = {
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? "unknown",
    node: process.version,
    undici: await undiciVersion(),
    loadAverageBefore: load[0],
  };
  if (comparison.file !== null) {
    const results = { startedAt, machine, rounds, seconds, warmupSeconds, rows, cost };
    const file = new URL(`../results/${comparison.file}`, import.meta.url);
    await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
  }

  const parts = [
    `${machine.processors} processors (${machine.model}), Node ${machine.node}, medians of ${rounds} rounds of ${seconds} s, load average before ${load[0]?.toFixed(2) ?? "unknown"}`,
    ...(rows.length === 0 ? [] : [httpReport(rows, against)]),
    ...(cost === null ? [] : [costReport(cost)]),
    goalReport(comparison.goals, rows, ours),
  ];
  process.stdout.write(`\n${parts.filter(Boolean).join("\n\n")}\n`);
}

/**
 * A word selects scenarios if it is in the name of one, else targets. Without a word for scenarios, every scenario of
 * the selected targets runs; without a word for targets, every target.
 */
function select({ scenarios, targets, bare, cost }: Comparison, words: readonly string[]) {
  const has = (word: string) => (name: string) => name.toLowerCase().includes(word);
  const scenarioNames = [...scenarios.map(({ name }) => name), ...(cost ? ["cost"] : [])];
  const scenarioWords = words.filter((word) => scenarioNames.some(has(word)));
  const targetWords = words.filter((word) => !scenarioWords.includes(word));
  const stray = targetWords.find((word) => !targets.some(({ name }) => has(word)(name)));
  if (stray !== undefined) throw new Error(`--only: nothing is called ${stray}`);

  const runs = (name: string, otherwise: boolean) =>
    scenarioWords.length === 0 ? otherwise : scenarioWords.some((word) => has(word)(name));
  const isAlways = (target: Target) => target === bare || target.name === DIRECT;
  const isNamed = ({ name }: Target) => targetWords.some((word) => has(word)(name));
  return {
    scenarios: scenarios.filter(({ name }) => runs(name, true)),
    targets: targets.filter((target) => targetWords.length === 0 || isAlways(target) || isNamed(target)),
    cost: cost && runs("cost", targetWords.length === 0),
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
