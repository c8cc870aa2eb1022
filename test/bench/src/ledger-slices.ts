import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { SliceLoad, SliceResult } from "./ledger-slice.ts";
import { median } from "./percentile.ts";
import { lineReader, type Started, start } from "./process.ts";
import { realDirectory } from "./real-directory.ts";
import { table } from "./table.ts";

// Compares the ledgers of several checkouts of this repository, all open at once. Each load runs in short slices that
// alternate between them, and a ratio is the median of the ratios slice by slice, so that a busy machine slows both.

const usage = `node test/bench/src/ledger-slices.ts [options] [a checkout's folder ...]
  The first checkout is what the others are divided by. Without any, this one runs alone.
  --slices <n>     of each load (9)
  --ms <n>         of a slice (1000)
  --accounts <n>   (1000)
  --past <n>       uses settled before (0)
  --only <words>   loads whose name holds one of these, comma-separated`;

const loads: Readonly<Record<string, SliceLoad["load"]>> = {
  "1 in flight": { inFlight: 1 },
  "32 in flight": { inFlight: 32 },
  "256 in flight": { inFlight: 256 },
  "1,000/s": { perSecond: 1_000 },
  "5,000/s": { perSecond: 5_000 },
};

const figures = ["pairsPerSecond", "mainUs", "processUs", "p50Ms", "p99Ms", "rssMiB"] as const;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    slices: { type: "string", default: "9" },
    ms: { type: "string", default: "1000" },
    accounts: { type: "string", default: "1000" },
    past: { type: "string", default: "0" },
    only: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(`${usage}\n`);
else await compare(positionals.length === 0 ? [join(import.meta.dirname, "../../..")] : positionals);

type Variant = { folder: string; process: Started; next: () => Promise<string> };

async function compare(folders: readonly string[]): Promise<void> {
  const directory = await realDirectory("slices-");
  const variants = await Promise.all(folders.map((folder) => open(resolve(folder), directory)));
  const chosen = Object.keys(loads).filter((name) => values.only.split(",").some((word) => name.includes(word)));
  const rows: string[][] = [];
  for (const name of chosen) {
    const results = variants.map((): SliceResult[] => []);
    for (let slice = 0; slice <= Number(values.slices); slice += 1) {
      const order = slice % 2 === 0 ? [...variants.keys()] : [...variants.keys()].reverse();
      for (const index of order) {
        const result = await run(variants[index] as Variant, { load: loads[name] as SliceLoad["load"] });
        // The first of a load only warms up.
        if (slice > 0) results[index]?.push(result);
      }
    }
    for (const [index, of] of results.entries()) {
      rows.push([name, folders[index] ?? "", ...figures.map((figure) => cell(figure, of, results[0] ?? [], index))]);
    }
    process.stderr.write(`${name}: done\n`);
  }
  process.stdout.write(`${table(["load", "checkout", ...figures], rows)}\n`);
  for (const { process: started } of variants) started.child.stdin?.end();
}

function cell(figure: (typeof figures)[number], of: SliceResult[], against: SliceResult[], index: number): string {
  const values = of.map((result) => result[figure]);
  const text = median(values).toFixed(figure === "pairsPerSecond" ? 0 : 2);
  const ratios = values.map((value, slice) => value / (against[slice]?.[figure] ?? Number.NaN));
  return index === 0 ? text : `${text} (${median(ratios).toFixed(2)})`;
}

async function open(folder: string, directory: string): Promise<Variant> {
  const script = join(folder, "test/bench/src/ledger-slice.ts");
  const started = await start(process.execPath, [script, directory, values.accounts, values.past], { openStdin: true });
  const next = lineReader(started);
  await next();
  return { folder, process: started, next };
}

async function run({ process, next }: Variant, load: Pick<SliceLoad, "load">): Promise<SliceResult> {
  process.child.stdin?.write(`${JSON.stringify({ ...load, ms: Number(values.ms) })}\n`);
  return JSON.parse(await next()) as SliceResult;
}
