import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { costBench } from "./cloudflare/cost-bench.ts";
import { costReport } from "./cloudflare/cost-report.ts";
import { httpBench, scenarios } from "./http-bench.ts";
import { neighboursBench } from "./neighbours.ts";
import { goalReport, httpReport } from "./report.ts";
import { httpRows } from "./summary.ts";
import type { Target } from "./target.ts";
import { BARE, DIRECT, targets } from "./targets.ts";

const usage = `npm run bench -- [options]
  --host <name>    node; cloudflare: the cost of a million requests, counted on local workerd; or neighbours: a paying
                   customer beside hostile clients of each kind (node)
  --rounds <n>     rounds, each with every target once in every scenario (node 9)
  --seconds <n>    measured seconds of each run (node 1, neighbours 5)
  --only <words>   only scenarios, targets and neighbours with one of these words in their name, comma-separated:
                   buffered, streaming, nginx, portkey, gateway, ... The bare and the direct target always run
  --connections <n>  hostile connections of neighbours (200)
  --quick          few and short rounds, for a first look`;

const { values } = parseArgs({
  options: {
    host: { type: "string", default: "node" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    only: { type: "string", default: "" },
    connections: { type: "string" },
    quick: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const words = values.only.toLowerCase().split(",").filter(Boolean);
const hosts = { node: compare, cloudflare: countCost, neighbours };

if (values.help) say(usage);
else {
  const run = Object.hasOwn(hosts, values.host) ? hosts[values.host as keyof typeof hosts] : undefined;
  if (run === undefined) throw new Error(`--host takes ${Object.keys(hosts).join(" or ")}`);
  process.stdout.write(`\n${await run()}\n`);
}

/** Measures hostile neighbours only. The exit code is 1 if a customer waited too long. */
function neighbours(): Promise<string> {
  const forMs = 1_000 * positive("--seconds", values.seconds, values.quick ? 1 : 5);
  const connections = positive("--connections", values.connections, 200);
  return neighboursBench({ connections, forMs, only: words, say });
}

/** Also writes the counts into `results/cloudflare.json`, which the page on deploying quotes. */
async function countCost(): Promise<string> {
  const file = new URL("../results/cloudflare.json", import.meta.url);
  const kept = JSON.parse(await readFile(file, "utf8")) as object;
  const costStartedAt = new Date().toISOString();
  const cost = await costBench({ size: values.quick ? 40 : 160, say });
  await writeFile(file, `${JSON.stringify({ ...kept, costStartedAt, machine: await machine(), cost }, null, 2)}\n`);
  return costReport(cost);
}

async function compare(): Promise<string> {
  const rounds = positive("--rounds", values.rounds, values.quick ? 2 : 9);
  const seconds = positive("--seconds", values.seconds, values.quick ? 0.5 : 1);
  const plan = select();
  const { processors, model, node, loadAverageBefore } = await machine();
  const available = await present(plan.targets);
  const against = [BARE, "Portkey"].filter((name) => available.some((target) => target.name === name));
  const pace = { rounds, seconds, warmupSeconds: Math.min(2, seconds / 2) };
  const rows = httpRows(await httpBench({ ...pace, ...plan, targets: available, say }), against);
  return [
    `${processors} processors (${model}), Node ${node}, medians of ${rounds} rounds of ${seconds} s, load average before ${loadAverageBefore.toFixed(2)}`,
    httpReport(rows, against),
    goalReport(rows),
  ]
    .filter(Boolean)
    .join("\n\n");
}

async function machine() {
  return {
    processors: availableParallelism(),
    model: cpus()[0]?.model ?? "unknown",
    node: process.version,
    undici: await undiciVersion(),
    loadAverageBefore: loadavg()[0] ?? Number.NaN,
  };
}

/**
 * A word selects scenarios if it is in the name of one, else targets. Without a word for scenarios, every scenario of
 * the selected targets runs; without a word for targets, every target.
 */
function select() {
  const has = (word: string) => (name: string) => name.toLowerCase().includes(word);
  const scenarioWords = words.filter((word) => scenarios.some(({ name }) => has(word)(name)));
  const targetWords = words.filter((word) => !scenarioWords.includes(word));
  const stray = targetWords.find((word) => !targets.some(({ name }) => has(word)(name)));
  if (stray !== undefined) throw new Error(`--only: nothing is called ${stray}`);
  const isNamed = (name: string, by: readonly string[]) => by.length === 0 || by.some((word) => has(word)(name));
  return {
    scenarios: scenarios.filter(({ name }) => isNamed(name, scenarioWords)),
    targets: targets.filter(({ name }) => name === BARE || name === DIRECT || isNamed(name, targetWords)),
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
